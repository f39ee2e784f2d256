/** The database, its migrations, its room on the disk. */

export { openDatabase } from './database.ts'
export type { Database } from './database.ts'
export { isDiskFull } from './disk-full.ts'
export type { DiskRoom } from './disk-room.ts'
export { createGroupedCommit } from './grouped-commit.ts'
export type { GroupedCommit } from './grouped-commit.ts'
export { jsonColumn } from './json-column.ts'
export { openStorage } from './open-storage.ts'
export { answering, onceOnly } from './resumable.ts'
export type { Resumable } from './resumable.ts'
export { keepingRefusals } from './resumable.ts'
