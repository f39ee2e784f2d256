import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { ownDockerd } from '../engine/start-dockerd.ts'
import { gvisorFilter } from './gvisor-filter.ts'
import { gvisorRuntimes, runtimeEntries } from './gvisor-runtimes.ts'
import { registerGvisor } from './register-gvisor.ts'

/** An engine that only knows the given runtimes. */
function anEngine(Runtimes: object): Engine {
  return { docker: { info: async () => ({ Runtimes }) } } as Partial<Engine> as Engine
}

const namesOf = async (runtimes: object) => (await gvisorRuntimes(anEngine(runtimes))).map(({ name }) => name)

test('an engine knows gVisor by its name or by its program', async () => {
  const runtimes = { runc: { path: 'runc' }, runsc: { path: '/opt/x' }, walled: { path: '/usr/bin/runsc' } }
  expect(await namesOf(runtimes)).toEqual(['runsc', 'walled'])
  expect(await namesOf({ runc: { path: 'runc' } })).toEqual([])
})

test('runtimes of the owner are tried first, then our faster one, then our portable one', async () => {
  const ours = runtimeEntries('/usr/bin/runsc', { virtualizes: true })
  const shuffled = Object.fromEntries(Object.entries(ours).toReversed())
  expect(await namesOf({ ...shuffled, runsc: { path: '/usr/bin/runsc' } })).toEqual([
    'runsc',
    ...['kvm', 'systrap', 'ptrace'].flatMap((platform) => [
      `flotilla-gvisor-${platform}-sandbox`,
      `flotilla-gvisor-${platform}-host`,
    ]),
  ])
})

test('the gVisor runtime keeps the system call filter inside, and uses no virtual machine without hardware support', () => {
  const entries = Object.values(runtimeEntries('/usr/bin/runsc', { virtualizes: false }))
  expect(entries).toHaveLength(4)
  for (const { runtimeArgs } of entries) {
    expect(runtimeArgs).toContain('--oci-seccomp')
    expect(runtimeArgs).not.toContain('--platform=kvm')
  }
})

test('the filter of system calls is the container’s, but for calls that must look as if they were not there', () => {
  const syscalls = [
    { names: ['read'], action: 'SCMP_ACT_ALLOW' },
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    { names: ['kill'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
  ]
  const own: unknown = JSON.parse(gvisorFilter(JSON.stringify({ defaultAction: 'SCMP_ACT_ERRNO', syscalls })))
  expect(own).toEqual({
    defaultAction: 'SCMP_ACT_ERRNO',
    syscalls: [syscalls[0], { names: ['clone3'], action: 'SCMP_ACT_TRACE' }, syscalls[2]],
  })
})

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-engine-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a process that reuses the pid of our engine is not taken for it', async () => {
  const folder = await aFolder()
  expect(await ownDockerd(folder)).toBeNull()
  await writeFile(join(folder, 'dockerd.pid'), `${process.pid}\n`)
  expect(await ownDockerd(folder)).toBeNull()
})

test('a foreign engine is not changed, and the owner gets the commands', async () => {
  const refused = await registerGvisor(anEngine({}), {
    uid: 0,
    noInstall: false,
    stateDirectory: await aFolder(),
    path: '',
    clock: systemClock,
  })
  expect(refused).toMatchObject({
    why: expect.stringContaining('did not start this container engine') as string,
    repair: expect.stringContaining('--oci-seccomp') as string,
  })
})
