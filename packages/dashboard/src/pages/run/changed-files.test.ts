import type { ChangedFile } from '@flotilla/protocol/changed-files'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { describe, expect, it } from 'vitest'
import { describeChangedFiles } from '../../data/describe-changed-files.ts'
import { joinChangedFiles } from './changed-files.ts'

const report = (files: readonly ChangedFile[], unlisted = 0): FleetEvent => ({
  seq: 1,
  at: 1,
  body: {
    type: 'files.changed',
    agent_id: 'scribe',
    run_id: 'run_1',
    files: [...files],
    unlisted,
    is_partial: false,
  },
})
const made = { path: 'a.txt', change: 'made', size_bytes: 1 } as const
const changed = { path: 'a.txt', change: 'changed', size_bytes: 2 } as const
const removed = { path: 'a.txt', change: 'removed', size_bytes: 2 } as const

describe('the files that a run changed', () => {
  it.each([
    ['made and changed', [made, changed], [{ ...changed, change: 'made' }]],
    ['made and removed', [made, removed], []],
    ['removed and made again', [removed, made], [{ ...made, change: 'changed' }]],
    ['changed and removed', [changed, removed], [removed]],
  ] as const)('a file that was %s by two attempts is listed once, as it is now', (_words, files, joined) => {
    expect(joinChangedFiles(files.map((file) => report([file])))?.files).toEqual(joined)
  })

  it('a run without a report has none, and one that changed nothing has an empty one', () => {
    expect(joinChangedFiles([])).toBeNull()
    expect(joinChangedFiles([report([])])).toEqual({ files: [], unlisted: 0, is_partial: false })
  })

  it.each([
    [[], 0, 'changed no files'],
    [[made], 0, 'made 1 file'],
    [[made, { ...made, path: 'b' }, { ...removed, path: 'c' }], 0, 'made 2 files, removed 1'],
    [[made], 3, 'changed 4 files'],
  ])('the counts read as words', (files, unlisted, text) => {
    expect(describeChangedFiles({ files, unlisted, is_partial: false })).toBe(text)
  })
})
