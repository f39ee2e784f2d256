import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createDataFiles } from '../files/data-files.ts'
import {
  observationLinesMax,
  observationMaxChars,
  observationsFile,
  readObservations,
  saveObservation,
} from './observations.ts'

function anOperator() {
  const files = createDataFiles(mkdtempSync(join(tmpdir(), 'observations-')))
  return { files, clock: createManualClock() }
}

test('an operator without observations gets none in its prompt', async () => {
  expect(await readObservations(anOperator().files)).toBe('')
})

test('what was seen is a line with its time, the newest last, in a file that people can read', async () => {
  const own = anOperator()
  expect(await saveObservation(own, 'ada failed\n# twice')).toBe(1)
  expect(await saveObservation(own, 'ada works again')).toBe(2)
  const lines = (await readObservations(own.files)).split('\n')
  expect(lines).toEqual([
    '[OBSERVATIONS.md]',
    expect.stringMatching(/^- \d{4}-\d\d-\d\dT\d\d:\d\d ada failed # twice$/),
    expect.stringMatching(/ ada works again$/),
  ])
  expect((await own.files.read(observationsFile, 10_000)).toString()).toMatch(/^# OBSERVATIONS\n\n- /)
})

test('the newest are kept, each within its bound, and a prompt gets them from the end', async () => {
  const own = anOperator()
  for (let count = 0; count < observationLinesMax + 3; count++) {
    await saveObservation(own, `${count} ${'x'.repeat(2 * observationMaxChars)}`)
  }
  const stored = (await own.files.read(observationsFile, 200_000)).toString().trim().split('\n- ')
  expect(stored).toHaveLength(observationLinesMax + 1)
  expect(stored[1]).toMatch(/^\S+ 3 x/)
  expect(Math.max(...stored.map((line) => line.length))).toBeLessThan(observationMaxChars + 40)
  const shown = await readObservations(own.files)
  expect(shown.length).toBeLessThan(13_000)
  expect(shown).toContain(` ${observationLinesMax + 2} x`)
})

test('no words are no observation', async () => {
  await expect(saveObservation(anOperator(), ' \n\u200B')).rejects.toMatchObject({ code: 'bad-request' })
})
