module latchkey.test/bench/peers/mmdalix-rwlock

go 1.26.0

replace latchkey.test/bench/peers/drive => ../

require latchkey.test/bench/peers/drive v0.0.0

require (
	github.com/mmdalix/redis-rwlock/clients/go v0.1.0
	github.com/redis/go-redis/v9 v9.23.0
)
