-- The check of this pull request was opened again, and nothing was told since that makes that needed once more.
-- KEYS pull
local why = get('again')
if why and string.match(why, ' begun$') then call('HDEL', pull, 'again') end
return 1
