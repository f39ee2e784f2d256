/** Why a write failed, if the cause is the storage or the process's open files and not the data. */
export type StorageFault = 'disk-full' | 'storage-failing' | 'too-many-files'

/** Codes of the system, as Node writes them on an error. */
const systemFaults: Readonly<Record<string, StorageFault>> = {
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EFBIG: 'disk-full',
  EROFS: 'storage-failing',
  EIO: 'storage-failing',
  ENODEV: 'storage-failing',
  ENXIO: 'storage-failing',
  ESTALE: 'storage-failing',
  EMFILE: 'too-many-files',
  ENFILE: 'too-many-files',
}

/** Primary result codes of SQLite; one extended code is read besides. */
const sqliteFaults: Readonly<Record<number, StorageFault>> = {
  5: 'storage-failing', // SQLITE_BUSY: another program holds the database
  8: 'storage-failing', // SQLITE_READONLY
  10: 'storage-failing', // SQLITE_IOERR
  11: 'storage-failing', // SQLITE_CORRUPT: also reported when the disk fails to read a page that is undamaged
  13: 'disk-full', // SQLITE_FULL
  14: 'storage-failing', // SQLITE_CANTOPEN
}

/** SQLITE_IOERR_SHMSIZE: the shared index of the log could not grow, as at a start on a full disk. */
const sqliteIndexFull = 4874

/** How many levels of wrapped errors are searched for a cause. */
const causesMax = 5

/** The fault behind an error or one of its causes; null for every other error. Pure. */
export function storageFaultOf(error: unknown): StorageFault | null {
  let found = error
  for (let depth = 0; depth < causesMax && found instanceof Error; depth++) {
    const fault = ownFault(found)
    if (fault !== null) return fault
    found = found.cause
  }
  return null
}

/** Whether a write failed because the disk or a quota is full. Pure. */
export function isDiskFull(error: unknown): boolean {
  return storageFaultOf(error) === 'disk-full'
}

function ownFault(error: Error): StorageFault | null {
  if ('errcode' in error && typeof error.errcode === 'number') {
    if (error.errcode === sqliteIndexFull) return 'disk-full'
    return sqliteFaults[error.errcode & 0xff] ?? null
  }
  return 'code' in error && typeof error.code === 'string' ? (systemFaults[error.code] ?? null) : null
}
