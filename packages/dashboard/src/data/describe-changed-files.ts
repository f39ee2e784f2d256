import type { ChangedFiles } from '@flotilla/protocol/changed-files'
import { formatCount } from './format.ts'

/** Counts the files that a run made, changed and removed, such as `made 2 files, removed 1`. Pure. */
export function describeChangedFiles({ files, unlisted }: ChangedFiles): string {
  const count = files.length + unlisted
  if (count === 0) return 'changed no files'
  if (unlisted > 0) return `changed ${formatCount(count, 'file')}`
  const parts = (['made', 'changed', 'removed'] as const).flatMap((change) => {
    const number = files.filter((file) => file.change === change).length
    return number === 0 ? [] : [{ change, number }]
  })
  return parts
    .map(({ change, number }, index) => `${change} ${index === 0 ? formatCount(number, 'file') : number}`)
    .join(', ')
}
