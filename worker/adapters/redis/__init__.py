"""Storage in Redis, and the private server for use without a configured one."""
