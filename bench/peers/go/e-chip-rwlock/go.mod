module latchkey.test/bench/peers/e-chip-rwlock

go 1.26.0

replace latchkey.test/bench/peers/drive => ../

require latchkey.test/bench/peers/drive v0.0.0

require (
	github.com/e-chip/redis-rwlock/v2 v2.0.0
	github.com/redis/go-redis/v9 v9.23.0
)
