package drive

import (
	"math"
	"slices"
	"time"
)

// summary is what a measuring of pairs prints.
type summary struct {
	Pairs   int     `json:"pairs"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
}

// summarize takes every sample there is: the quantiles are samples (nearest rank), not estimates.
func summarize(perThread [][]time.Duration, took time.Duration) summary {
	all := slices.Concat(perThread...)
	slices.Sort(all)
	return summary{len(all), took.Seconds(), quantile(all, 0.50), quantile(all, 0.99)}
}

func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return math.Round(float64(sorted[rank])/100) / 10 // ns to µs, one digit after the point
}
