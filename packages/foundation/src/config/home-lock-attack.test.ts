import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lockHome } from './home-lock.ts'
import { lockNames } from './lock-holder.ts'

/** A user of the machine who is neither root nor the owner of the home. */
const strangerUid = 65_534
const ownerUid = 65_533
const own = { pid: process.pid, deed: 'starting' } as const

function aHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'flotilla-home-')))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

async function running(
  code: string,
  words: readonly string[],
  uid?: number,
): Promise<{ readonly pid: number; readonly said: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: import.meta.dirname,
    ...(uid === undefined ? {} : { uid, gid: uid, cwd: '/' }),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { pid: child.pid ?? 0, said: said.toString() }
}

/** Starts a process of another user that takes names of the home's lock and answers that `pid` holds it. */
const stranger = (names: readonly string[], pid: number) =>
  running(
    `import { createServer } from 'node:net'
    for (const name of JSON.parse(process.argv[1])) {
      const server = createServer((socket) => socket.end(process.argv[2] + ' running\\n'))
      await new Promise((resolve) => server.listen('\\0' + name, resolve))
    }
    console.log('held')`,
    [JSON.stringify(names.map((name) => name.slice(1))), `${pid}`],
    strangerUid,
  )

/** Starts a process of root that holds the lock of the home. */
const holder = (home: string, words: readonly string[] = []) =>
  running(
    `import { lockHome } from ${JSON.stringify(join(import.meta.dirname, 'home-lock.ts'))}
    await lockHome(${JSON.stringify(home)}, { pid: process.pid, deed: 'running' })
    console.log('locked')
    setInterval(() => {}, 1000)`,
    words,
  )

describe.skipIf(process.getuid?.() !== 0)('another user who takes names of the lock of a home', () => {
  test('blocks no start, whatever number of names it takes', async () => {
    const home = aHome()
    const names = [...lockNames(home)]
    await stranger(names, 1)
    const lock = await lockHome(home, own)
    await expect(lockHome(home, own)).rejects.toMatchObject({
      code: 'home-in-use',
      detail: `a mesh is already being started on ${home} by process ${process.pid}`,
    })
    await lock.release()
    await (await lockHome(home, own)).release()
  })

  test('another user who takes names of the lock of a home lets no second process in when it frees the name', async () => {
    const home = aHome()
    const [first = ''] = lockNames(home)
    const attacker = await stranger([first], 1)
    const { pid } = await holder(home)
    process.kill(attacker.pid, 'SIGKILL')
    await expect.poll(() => isAlive(attacker.pid)).toBe(false)
    await expect(lockHome(home, own)).rejects.toMatchObject({
      detail: `a mesh already runs on ${home}: process ${pid}`,
    })
  })

  test('another user who takes names of the lock of a home cannot name another process as the holder to the owner of the home', async () => {
    const home = aHome()
    chownSync(home, ownerUid, ownerUid)
    const [first = ''] = lockNames(home)
    await stranger([first], 1)
    expect(await outcomeFor(home, ownerUid)).toBe('locked')
  })
})

describe.skipIf(process.getuid?.() !== 0)('the owner of a home', () => {
  test.each(['serve', 'restore'])(
    'the owner of a home is refused while a process of their own holds it that the kernel lets only root read: %s',
    async (verb) => {
      const home = aHome()
      chownSync(home, ownerUid, ownerUid)
      const words = verb === 'serve' ? ['--', verb] : ['--', verb, '--home', home]
      // A process that changed its user cannot be read, just like a process whose program may only be executed.
      expect(await outcomeFor(home, ownerUid, words)).toBe('locked')
      expect(await outcomeFor(home, ownerUid)).toContain(`a mesh already runs on ${home}: process `)
    },
  )

  test('the owner of a home is refused while root runs a mesh on it, although only root can read whose socket it is', async () => {
    const home = aHome()
    chownSync(home, ownerUid, ownerUid)
    chmodSync(home, 0o755)
    const { pid } = await holder(home, ['--', '--home', home])
    expect(await outcomeFor(home, ownerUid)).toBe(`a mesh already runs on ${home}: process ${pid}`)
  })
})

/** Tries to lock the home as this user; returns the outcome. */
async function outcomeFor(home: string, uid: number, words: readonly string[] = []): Promise<string> {
  const { said } = await running(
    `import { lockHome } from ${JSON.stringify(join(import.meta.dirname, 'home-lock.ts'))}
    process.setgid(${uid})
    process.setuid(${uid})
    try {
      await lockHome(${JSON.stringify(home)}, { pid: process.pid, deed: 'running' })
      console.log('locked')
      setInterval(() => {}, 1000)
    } catch (error) {
      console.log(error.detail ?? error.stack)
    }`,
    words,
  )
  return said.trim()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
