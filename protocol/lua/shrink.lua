-- An indexed lock has few records: all are read, in the order of their tickets. The index is deleted later.
indexed.save()
records = {}
for at, stored in ipairs(redis.call('ZRANGEBYSCORE', index_key, '6e15', '(7e15')) do
    records[at] = { 0, struct.unpack(RECORD_FORMAT, stored) }
end
for _, record in ipairs(records) do record[STORED] = nil end
table.sort(records, function(a, b) return a[TICKET] < b[TICKET] end)
lock[FORM] = PLAIN
