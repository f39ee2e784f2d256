/** The database, its migrations, its room on the disk. */

export { copyDatabase, faultInDatabase } from './copy-database.ts'
export { openDatabase } from './database.ts'
export type { Database } from './database.ts'
export { isDiskFull } from './disk-full.ts'
export type { DiskSpace } from './disk-space.ts'
export { createGroupedCommit } from './grouped-commit.ts'
export type { GroupedCommit } from './grouped-commit.ts'
export { jsonColumn } from './json-column.ts'
export { newestSchemaStep, openStorage } from './open-storage.ts'
export { answering, onceOnly } from './resumable.ts'
export type { Resumable } from './resumable.ts'
export { keepingRefusals } from './resumable.ts'
