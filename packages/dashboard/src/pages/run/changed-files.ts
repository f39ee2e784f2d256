import type { ChangedFile, ChangedFiles } from '@flotilla/protocol/changed-files'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'

/**
 * Joins what the attempts of a run reported, oldest first; null if no attempt reported. A file that one attempt made
 * and a later one removed is left out. Pure.
 */
export function joinChangedFiles(events: readonly FleetEvent[]): ChangedFiles | null {
  const reports = events.flatMap(({ body }) => (body.type === 'files.changed' ? [body] : []))
  if (reports.length === 0) return null
  const byPath = new Map<string, ChangedFile>()
  for (const file of reports.flatMap(({ files }) => files)) {
    const joined = joinChange(byPath.get(file.path), file)
    if (joined === null) byPath.delete(file.path)
    else byPath.set(file.path, joined)
  }
  return {
    files: [...byPath.values()].toSorted((one, other) => one.path.localeCompare(other.path)),
    unlisted: reports.reduce((sum, { unlisted }) => sum + unlisted, 0),
    is_partial: reports.some(({ is_partial: isPartial }) => isPartial),
  }
}

function joinChange(before: ChangedFile | undefined, after: ChangedFile): ChangedFile | null {
  if (before?.change === 'made') {
    if (after.change === 'removed') return null
    return { ...after, change: 'made' }
  }
  return before?.change === 'removed' && after.change === 'made' ? { ...after, change: 'changed' } : after
}
