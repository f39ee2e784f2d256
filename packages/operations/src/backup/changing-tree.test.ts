import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { patient } from '../../../../tests/support/patience.ts'
import { systemClock } from '../../../foundation/src/platform/index.ts'
import { readProcessData } from '../../../fleet/src/sandbox/process/process-data.ts'
import { createTarFilter } from './filter-tar.ts'

/** Changes entries in every way, without a pause, until it is killed. */
const changer = `
import os, random, shutil, stat, sys
os.chdir(sys.argv[1])
names = ["n%d" % number for number in range(30)]
def wipe(name):
  if stat.S_ISDIR(os.lstat(name).st_mode): shutil.rmtree(name, ignore_errors=True)
  else: os.unlink(name)
def write(name, flags, size):
  file = os.open(name, flags | os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW)
  os.write(file, b"y" * size)
  os.close(file)
print("changes", flush=True)
while True:
  name = random.choice(names)
  kind = random.randrange(9)
  try:
    if kind < 3: wipe(name)
    if kind < 4: write(name, 0, random.randrange(300000))
    elif kind == 4: os.truncate(name, random.randrange(1000)) if not os.path.islink(name) else wipe(name)
    elif kind == 5: os.mkfifo(name)
    elif kind == 6: os.symlink("../../outside", name)
    elif kind == 7:
      os.mkdir(name)
      for number in range(5): write("%s/secret%d" % (name, number), 0, 1000)
    else: os.rename(name, random.choice(names))
  except OSError: pass
`
const readings = 30

test(
  'data that changes while it is read gives a whole archive, with nothing from outside of the folder',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'changing-tree-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const agent = join(folder, 'agent')
    await mkdir(join(agent, 'data'), { recursive: true })
    await mkdir(join(folder, 'outside'))
    for (let number = 0; number < 5; number += 1)
      await writeFile(join(folder, 'outside', `secret${number}`), 'not of the agent'.repeat(1000))
    const child = spawn('python3', ['-c', changer, join(agent, 'data')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    await once(child.stdout, 'data')
    let entries = 0
    for (let number = 0; number < readings; number += 1) {
      const data = await readProcessData(agent, { group: null, clock: systemClock })
      const filter = createTarFilter({
        entriesMax: 10_000,
        bytesMax: 2 ** 30,
        bytesBy: '',
        readMaxBytes: 2 ** 31,
      })
      for await (const piece of data?.tar ?? []) {
        const passed = filter.take(Buffer.from(piece))
        expect(passed.some((part) => part.includes('not of the agent'))).toBe(false)
      }
      const { data: found } = filter.end()
      expect(found.endedBy).toBeNull()
      entries += found.entries
    }
    expect(entries).toBeGreaterThan(readings)
  },
  patient(120_000),
)
