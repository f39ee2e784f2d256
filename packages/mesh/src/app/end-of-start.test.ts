import { makeHome } from '@flotilla/protocol/home-folder'
import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'
import { storageFailedExitCode } from '@flotilla/protocol/storage-failed'
import { Problem } from '@flotilla/protocol/problem'
import { expect, it } from 'vitest'
import { endOfStart } from './end-of-start.ts'

function thrownBy(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

it.each([
  ['EIO', 'storage-failing'],
  ['EROFS', 'storage-failing'],
  ['ESTALE', 'storage-failing'],
  ['ENOSPC', 'disk-full'],
  ['EMFILE', 'too-many-files'],
])('a start whose home fails with %s ends as %s, which a supervisor retries', (code, problem) => {
  const fail = () => {
    throw Object.assign(new Error(code), { code })
  }
  const error = thrownBy(() => makeHome({ statSync: fail, mkdirSync: fail }, '/home'))
  const end = endOfStart(error)
  expect(end.exitCode).toBe(storageFailedExitCode)
  expect(end.error).toMatchObject({ code: problem, detail: expect.stringContaining(code) as unknown })
})

it('a start that the owner must repair ends with a code of its own, one of the storage with another, and any other failure with 1', () => {
  const refused = Object.assign(new Error('EACCES'), { code: 'EACCES' })
  const fail = () => {
    throw refused
  }
  const unusable = thrownBy(() => makeHome({ statSync: fail, mkdirSync: fail }, '/home'))
  expect(endOfStart(unusable)).toEqual({ error: unusable, exitCode: ownerMustActExitCode })
  const conflict = new Problem('conflict')
  expect(endOfStart(conflict)).toEqual({ error: conflict, exitCode: 1 })
  const full = new Problem('disk-full')
  expect(endOfStart(full)).toEqual({ error: full, exitCode: storageFailedExitCode })
})
