'use strict';
// Clocks and percentiles.

const { performance } = require('node:perf_hooks');

exports.wallUs = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

exports.nowMs = () => performance.now();

// The smallest sample that is not below `part` of them all; 0 when there is none.
const percentile = (sorted, part) =>
    (sorted.length === 0 ? 0 : sorted[Math.max(Math.ceil(part * sorted.length), 1) - 1]);

// The object of `pairs`, from spans in ms.
exports.pairsObject = (spansMs, seconds) => {
    const sorted = Float64Array.from(spansMs).sort();
    const us = (part) => Number((percentile(sorted, part) * 1000).toFixed(1));
    return { pairs: sorted.length, seconds, p50: us(0.50), p99: us(0.99) };
};
