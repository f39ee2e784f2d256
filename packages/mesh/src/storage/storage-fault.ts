import { systemCodeOf, writeFaultWords } from '@flotilla/protocol/system-error-code'

/** Why a write failed, if the cause is the storage or the process's open files and not the data. */
export type StorageFault = 'disk-full' | 'storage-failing' | 'too-many-files'

/** A fault and the reason in words without a path, so that any client may read them. */
export interface StorageFailure {
  readonly fault: StorageFault
  readonly reason: string
}

/** Codes of the system. */
const systemFaults: Readonly<Record<string, StorageFault>> = {
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EFBIG: 'disk-full',
  EROFS: 'storage-failing',
  EIO: 'storage-failing',
  ENODEV: 'storage-failing',
  ENXIO: 'storage-failing',
  ESTALE: 'storage-failing',
  EUCLEAN: 'storage-failing',
  EMFILE: 'too-many-files',
  ENFILE: 'too-many-files',
}

/** Primary result codes of SQLite; one extended code is read besides. */
const sqliteFaults: Readonly<Record<number, StorageFailure>> = {
  5: { fault: 'storage-failing', reason: 'another program holds the database' }, // SQLITE_BUSY
  8: { fault: 'storage-failing', reason: 'the database is read-only' }, // SQLITE_READONLY
  10: { fault: 'storage-failing', reason: 'the disk reports an error' }, // SQLITE_IOERR
  13: { fault: 'disk-full', reason: 'no space left' }, // SQLITE_FULL
  14: { fault: 'storage-failing', reason: 'a file of the database cannot be opened' }, // SQLITE_CANTOPEN
}

/** SQLITE_IOERR_SHMSIZE: the shared index of the log could not grow, as at a start on a full disk. */
const sqliteIndexFull = 4874

/** Errors that wrap others are opened so deep. */
const causesMax = 5

/** The storage failure behind an error or one of its causes; null for every other error. Pure. */
export function storageFailureOf(error: unknown): StorageFailure | null {
  let found = error
  for (let depth = 0; depth < causesMax && found instanceof Error; depth++) {
    const failure = ownFailure(found)
    if (failure !== null) return failure
    found = found.cause
  }
  return null
}

/** The fault alone. Pure. */
export function storageFaultOf(error: unknown): StorageFault | null {
  return storageFailureOf(error)?.fault ?? null
}

/** Whether a write failed because the disk or a quota is full. Pure. */
export function isDiskFull(error: unknown): boolean {
  return storageFaultOf(error) === 'disk-full'
}

function ownFailure(error: Error): StorageFailure | null {
  if ('errcode' in error && typeof error.errcode === 'number') {
    if (error.errcode === sqliteIndexFull) return { fault: 'disk-full', reason: 'no space left' }
    return sqliteFaults[error.errcode & 0xff] ?? null
  }
  const code = systemCodeOf(error)
  const fault = systemFaults[code]
  return fault === undefined ? null : { fault, reason: writeFaultWords[code] ?? code }
}
