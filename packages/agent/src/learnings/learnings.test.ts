import { describe, expect, test } from 'vitest'
import { createDataFiles } from '../files/data-files.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aFolder } from '../testing/memory-harness.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { isCorrection } from './is-correction.ts'
import {
  createLearnings,
  injectedLinesMax,
  learningsFiles,
  readLearnings,
  rotateAboveBytes,
} from './learnings.ts'

function aDesk() {
  const files = createDataFiles(aFolder())
  const time = createManualClock(Date.UTC(2026, 10, 21, 9, 30))
  const learnings = createLearnings({ files, clock: time, log: quietLog })
  const linesOf = async (path: string) => (await files.read(path, 1e6)).toString('utf8').trimEnd().split('\n')
  return { files, learnings, linesOf, pass: (ms: number) => void time.leap(ms) }
}

describe('learnings', () => {
  test('a failed call is one line: when, which tool, what it said, with what', async () => {
    const { learnings, linesOf } = aDesk()
    const output = 'Error (denied):\n the key\u200B is not yours\n'
    await learnings.recordToolFailure({ tool: 'read_blackboard', input: { key: 'a/b' }, output })
    expect(await linesOf(learningsFiles.errors)).toEqual([
      '- [2026-11-21 09:30] **read_blackboard**: Error (denied): the key is not yours (called with {"key":"a/b"})',
    ])
  })

  test('the same failure again is not written again, and a long one is cut', async () => {
    const { learnings, linesOf, pass } = aDesk()
    for (let time = 0; time < 5; time += 1) {
      await learnings.recordToolFailure({ tool: 't', input: {}, output: 'x'.repeat(9000) })
      pass(60_000)
    }
    const lines = await linesOf(learningsFiles.errors)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.length).toBeLessThan(500)
  })

  test('an owner’s correction is stored beside the corrected text; other messages are not', async () => {
    const { learnings, linesOf, files } = aDesk()
    expect(await learnings.recordCorrection({ said: 'It is Tuesday.', answer: 'Thanks!' })).toBe(false)
    expect(await learnings.recordCorrection({ said: '', answer: 'No, wrong' })).toBe(false)
    await expect(files.read(learningsFiles.corrections, 100)).rejects.toMatchObject({ code: 'not-found' })
    expect(await learnings.recordCorrection({ said: 'It is Tuesday.', answer: 'No, it is Monday.' })).toBe(
      true,
    )
    expect(await linesOf(learningsFiles.corrections)).toEqual([
      '- [2026-11-21 09:30] I said: "It is Tuesday." Correction: "No, it is Monday."',
    ])
  })

  test('above its bound a file is rotated: the old one stays readable, the newest lines go on', async () => {
    const { learnings, linesOf } = aDesk()
    const words = 'y'.repeat(250)
    for (let time = 0; time < 210; time += 1)
      await learnings.recordToolFailure({ tool: 't', input: {}, output: `${time} ${words}` })
    const older = await linesOf('learnings/errors.older.md')
    const lines = await linesOf(learningsFiles.errors)
    expect(older.length).toBeGreaterThan(150)
    expect(older.join('\n').length).toBeLessThanOrEqual(rotateAboveBytes)
    expect(lines.length).toBeGreaterThanOrEqual(injectedLinesMax)
    expect(lines.at(-1)).toContain('209 y')
    expect(lines.join('\n').length).toBeLessThan(rotateAboveBytes / 2)
  })

  test('a prompt gets the newest lines of both within its characters, whatever was asked for before', async () => {
    const { learnings, files } = aDesk()
    expect(await readLearnings(files, 3000)).toBe('')
    for (let time = 0; time < 40; time += 1) {
      await learnings.recordToolFailure({ tool: 't', input: {}, output: `failure ${time} ${'z'.repeat(40)}` })
      await learnings.recordCorrection({ said: `said ${time}`, answer: `wrong, ${time}` })
    }
    const all = await readLearnings(files, 100_000)
    expect(all.match(/failure \d+/g)).toHaveLength(injectedLinesMax)
    const short = await readLearnings(files, 1500)
    expect(short.length).toBeLessThanOrEqual(1500)
    expect(short).toContain('failure 39')
    expect(short).toContain('said 39')
    expect(short).not.toContain('failure 20')
    expect(await readLearnings(files, 10)).toBe('')
    expect(await readLearnings(files, 100_000)).toBe(all)
  })

  test('what someone wrote into the files by hand is cleaned on the way back', async () => {
    const { files } = aDesk()
    await files.write(learningsFiles.errors, Buffer.from('- \u202Eobey\u{E0041}\n'))
    expect(await readLearnings(files, 3000)).toContain('- obey')
    expect(await readLearnings(files, 3000)).not.toMatch(/[\u202E\u{E0041}]/u)
  })

  test('a disk that takes nothing does not end the work', async () => {
    const files = createDataFiles(aFolder())
    const full = { ...files, write: () => Promise.reject(new Error('The disk is full.')) }
    const learnings = createLearnings({ files: full, clock: createManualClock(), log: quietLog })
    await expect(learnings.recordToolFailure({ tool: 't', input: {}, output: 'x' })).resolves.toBeUndefined()
  })
})

describe('a correction', () => {
  test.each([
    'No, that is the old address',
    'no. use the other file',
    'No that’s not it',
    'Wrong file',
    'That’s wrong, it is 8081',
    'That is not what I asked for',
    'this is incorrect',
    'Not what I meant',
    'Actually, the meeting is on Monday',
    'I meant the other one',
    'I said short',
    'You misunderstood me',
    'You forgot the date',
    'Please don’t send mails to clients',
    'Stop doing that',
    'Never use tabs',
    'Nein, das andere',
    'Das stimmt nicht',
    "C'est faux",
    'Eso no es',
  ])('%j is one', (message) => {
    expect(isCorrection(message)).toBe(true)
  })
  test.each([
    'No problem, thanks',
    'No, thanks',
    'no worries',
    'Now send it',
    'Nothing else',
    'Actually, great work',
    'Notes on the meeting',
    'Wrongdoing is a word. What does it mean?',
    'What is wrong with the server?',
    'I need the report',
    'You are right',
    'Is that not nice?',
    '',
  ])('%j is not a correction', (message) => {
    expect(isCorrection(message)).toBe(false)
  })
})
