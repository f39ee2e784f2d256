/** SQLite's result code for a full disk; higher bits tell more of it. */
const sqliteFull = 13

/** Whether a write failed because the disk, or a quota on it, has no more room. Pure. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true
  return 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === sqliteFull
}
