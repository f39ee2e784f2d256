import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { keepTerminal } from '../fake-terminal.ts'
import { watchCopy } from './backup.ts'

const mb = 1024 * 1024

async function watched(options: { readonly isTTY: boolean; readonly json?: boolean }) {
  const clock = createManualClock()
  const { terminal, out, err } = keepTerminal({ ...options, colors: 'auto', clock })
  const copy = watchCopy({ terminal })
  copy.heard({ kind: 'progress', words: 'Writing the database and the files' })
  copy.heard({ kind: 'moved', bytes: 4 * mb, of: 12 * mb })
  const early = `${out.text()}${err.text()}`
  await clock.advance(1000)
  await clock.advance(1000)
  const late = `${out.text()}${err.text()}`
  copy.heard({ kind: 'moved', bytes: 16 * mb, of: null })
  await clock.advance(1000)
  copy.end()
  return { early, late, whole: `${out.text()}${err.text()}` }
}

test('a copy that takes longer than a second says at a terminal how far it is', async () => {
  const { early, late, whole } = await watched({ isTTY: true })
  expect(early).not.toContain('MB')
  expect(late).toContain('Writing the database and the files: 4.0 MB of 12.0 MB (2 s)')
  expect(whole).toContain('16.0 MB (3 s)')
})

test.each([{ isTTY: false }, { isTTY: true, json: true }])(
  'the command prints no notice when standard error is not a terminal: %j',
  async (options) => {
    expect((await watched(options)).whole).toBe('')
  },
)

test.each([{ isTTY: true }, { isTTY: false }, { isTTY: true, json: true }])(
  'a failed step is printed with its reason: %j',
  (options) => {
    const { terminal, out, err } = keepTerminal(options)
    const copy = watchCopy({ terminal })
    const why = 'It could not be fetched: the engine cannot reach its registry.'
    copy.heard({ kind: 'progress', words: 'Fetching debian' })
    copy.heard({ kind: 'progress', words: 'Making it', failed: { step: 'Fetching debian', why } })
    copy.end()
    expect(err.text()).toContain(`Fetching debian: failed.\n  ${why}\n`)
    expect(out.text()).toBe('')
  },
)
