module latchkey.test/bench/peers/drive

go 1.26.0
