/** Ensures that only one machine uses a home. */

export { startEndThread } from './end-thread.ts'
export { createFakeLeaseRecords } from './fake-lease-records.ts'
export { holdLease } from './hold-lease.ts'
export type { HeldLease } from './hold-lease.ts'
export { holderName } from './holder-name.ts'
export type { LeaseRecord, LeaseRecords, SeenRecord } from './lease-records.ts'
export { endsAfterMs, leaseMs } from './lease-times.ts'
export { requireFreeLease, takeLease } from './take-lease.ts'
