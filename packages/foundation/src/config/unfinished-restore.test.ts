import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths } from './data-paths.ts'
import { isRestoreUnfinished, wipeUnfinishedRestore } from './unfinished-restore.ts'

const deepScript = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(40):
  os.mkdir("e" * 250)
  os.chdir("e" * 250)
`

test('deletes what an interrupted restore left, with trees deeper than a path can be, and foreign files stay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unfinished-restore-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  const paths = dataPaths(join(folder, 'home'))
  for (const place of [join(paths.agentsFolder, '61', 'data'), join(paths.artifactsFolder, '61')]) {
    mkdirSync(place, { recursive: true })
    execFileSync('python3', ['-c', deepScript, place])
  }
  mkdirSync(dirname(paths.restoreMark), { recursive: true })
  writeFileSync(paths.restoreMark, '')
  writeFileSync(join(paths.home, 'thesis.txt'), 'years of work')
  expect(await isRestoreUnfinished(paths)).toBe(true)
  await wipeUnfinishedRestore(paths)
  expect(readdirSync(paths.home)).toEqual(['thesis.txt'])
  expect(existsSync(paths.dataFolder)).toBe(false)
})
