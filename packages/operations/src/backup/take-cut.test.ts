import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { patient } from '../../../../tests/support/patience.ts'
import { dataPaths } from '../../../foundation/src/config/index.ts'
import { openDatabase } from '../../../foundation/src/storage/index.ts'
import { takeCut } from './take-cut.ts'

const open = { secrets: false, passphrase: null }

function aHome() {
  const folder = mkdtempSync(join(tmpdir(), 'take-cut-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  const paths = dataPaths(join(folder, 'home'))
  const place = join(paths.runtimeFolder, 'cut')
  mkdirSync(place, { recursive: true })
  const artifacts = join(paths.artifactsFolder, '61')
  mkdirSync(artifacts, { recursive: true })
  mkdirSync(paths.configFolder)
  writeFileSync(paths.settingsFile, '{}')
  openDatabase(paths.database).close()
  return { paths, place, artifacts }
}

/** Replaces artifacts without a pause, as the mesh does for an agent that saves them, until it is killed. */
const saver = `
import os, sys
os.chdir(sys.argv[1])
print("saves", flush=True)
number = 0
while True:
  number += 1
  with open(".staged-x", "w") as file: file.write("version %d" % number)
  os.rename(".staged-x", "note-%d" % (number % 20))
`

test(
  'an agent that saves artifacts without a pause does not prevent a backup',
  async () => {
    const { paths, place, artifacts } = aHome()
    const child = spawn('python3', ['-c', saver, artifacts], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    await once(child.stdout, 'data')
    await expect.poll(() => statSync(join(artifacts, 'note-0'), { throwIfNoEntry: false })).toBeDefined()
    const { files, skipped } = await takeCut(paths, place, open)
    expect(files[0]?.path).toBe('config/settings.json')
    const notes = files.filter(({ path }) => path.startsWith('data/artifacts/61/note-'))
    expect(notes.length + skipped.count).toBe(20)
    for (const { source, bytes } of notes) {
      expect(readFileSync(source, 'utf8')).toMatch(/^version \d+$/)
      expect(statSync(source).size).toBe(bytes)
    }
  },
  patient(60_000),
)

test('a file that the owner’s program replaces all the time is a conflict with a repair', async () => {
  const { paths, place } = aHome()
  let number = 0
  // Each look at a list of secrets is a look at the home: the file is another one every time.
  const changing = {
    passphrase: null,
    get secrets() {
      number += 1
      writeFileSync(`${paths.settingsFile}.next`, String(number))
      renameSync(`${paths.settingsFile}.next`, paths.settingsFile)
      return false
    },
  }
  await expect(takeCut(paths, place, changing)).rejects.toMatchObject({ code: 'conflict' })
})

test('a folder that becomes a link whenever it was listed adds no file from elsewhere', async () => {
  const { paths, place, artifacts } = aHome()
  writeFileSync(join(artifacts, 'note'), 'of the agent')
  const [elsewhere, hidden] = [join(paths.home, '..', 'elsewhere'), `${artifacts}-hidden`]
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'note'), 'of the owner')
  const swap = (isLink: boolean): void => {
    if (isLink === existsSync(hidden)) return
    if (isLink) {
      renameSync(artifacts, hidden)
      symlinkSync(elsewhere, artifacts)
    } else {
      rmSync(artifacts)
      renameSync(hidden, artifacts)
    }
  }
  // A listing begins with the question for secrets, and the linking after the question for the database.
  const options = {
    passphrase: null,
    get secrets() {
      swap(false)
      return false
    },
  }
  const swapping = {
    ...paths,
    get database() {
      swap(true)
      return paths.database
    },
  }
  const { files, skipped } = await takeCut(swapping, place, options)
  expect(files.map(({ path }) => path)).toEqual(['config/settings.json'])
  expect(skipped).toMatchObject({ count: 1, first: [{ name: 'data/artifacts/61/note' }] })
})
