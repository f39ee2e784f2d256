import { createFakeLeaseRecords } from './fake-lease-records.ts'
import { leaseRecordsConformance } from './lease-records.conformance.ts'

leaseRecordsConformance('the fake', async () => {
  const records = createFakeLeaseRecords()
  return [records, records]
})
