"""Tell signals what a change holds: functions, tests, assertions, call chains."""
