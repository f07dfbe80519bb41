module latchkey.test/bench/peers/rueidislock

go 1.26.0

replace latchkey.test/bench/peers/drive => ../

require latchkey.test/bench/peers/drive v0.0.0

require github.com/redis/rueidis v1.0.79

require golang.org/x/sys v0.47.0 // indirect
