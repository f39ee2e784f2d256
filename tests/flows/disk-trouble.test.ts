import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { meshOnDisk } from '../support/mesh-on-disk.ts'
import { eventually } from '../support/eventually.ts'
import { flotillaWith } from '../support/flotilla-command.ts'
import { openMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { canMount, mountAt } from '../support/small-disk.ts'

const isReady = async (mesh: MeshProcess): Promise<boolean> =>
  mesh.call(meshHumanEndpoints.readyz, { timeoutMs: 5000, reuses: false }).then(
    ({ status }) => status === 200,
    () => false,
  )

describe.skipIf(!canMount)('a mesh in trouble with its disk', () => {
  it('a mesh in trouble with its disk refuses new work while no inode is left, lives, and makes agents again afterwards', async () => {
    const { mesh, disk } = await meshOnDisk({ sizeMb: 256, inodes: 2000 })
    const { pid } = mesh
    await disk.fillInodes()
    const problems = (await mesh.call(meshHumanEndpoints.readyz)).json()['problems']
    expect(problems).toMatchObject([
      { id: 'disk-full', detail: expect.stringContaining('inodes') as unknown },
    ])
    const asked = await mesh.call(meshHumanEndpoints.chat, {
      params: { id: 'operator' },
      body: { message: 'hello', session: 's' },
    })
    expect([asked.status, asked.json()['code']]).toEqual([507, 'disk-full'])
    // The mesh may have freed an inode since.
    await disk.fillInodes()
    await expect(mesh.createWorker('none')).rejects.toThrow(/507.*disk-full/)
    await disk.drain()
    expect(await isReady(mesh)).toBe(true)
    await mesh.createWorker('clerk')
    expect((await mesh.ask('hello', { agent: 'clerk' })).outcome?.text).toBe('Yes.')
    expect(mesh.pid).toBe(pid)
  })

  it('a mesh in trouble with its disk ends its agents and itself in order when it is asked to stop and no byte is left', async () => {
    const { mesh, disk } = await meshOnDisk({ sizeMb: 256 })
    await mesh.ask('hello')
    const agents = await mesh.agentProcesses()
    const alive = () => Promise.all(agents.map(isAlive))
    disk.fill()
    expect(await alive()).toEqual([true])
    expect(await mesh.terminate()).toBe(0)
    expect(await alive()).toEqual([false])
    await disk.drain()
    await mesh.restart()
    expect((await mesh.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
  })

  it('refuses new work while another file system is mounted over its home, keeps its settings, and heals', async () => {
    const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
    for (const name of ['config', 'cassettes']) mkdirSync(join(home, name))
    const settings = join(home, 'config', 'settings.json')
    writeFileSync(settings, JSON.stringify({ default_model: 'scripted/disk' }))
    writeFileSync(join(home, 'cassettes', 'disk.json'), JSON.stringify(aCassette({ turns: [says('Yes.')] })))
    const mesh = openMesh(home)
    onTestFinished(async () => {
      await mesh.terminate()
    })
    await mesh.restart()
    const { pid } = mesh
    await mesh.ask('hello')
    const { unmount } = mountAt(home, { sizeMb: 8 })
    let isMounted = true
    onTestFinished(() => {
      if (isMounted) unmount()
    })
    // The settings files may already have been found unreadable too.
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()['problems']).toContainEqual(
      expect.objectContaining({
        id: 'storage-failing',
        detail: expect.stringContaining('another file system is where') as unknown,
      }),
    )
    const body = { message: 'hello', session: 's' }
    const asked = await mesh.call(meshHumanEndpoints.chat, { params: { id: 'operator' }, body })
    expect([asked.status, asked.json()['code']]).toEqual([503, 'storage-failing'])
    // An edit would be made on the wrong disk.
    await expect(mesh.createWorker('none')).rejects.toThrow(/another file system|storage-failing|503/)
    const second = await flotillaWith({ home }, 'start', '--runtime', 'process')
    expect(second.code).toBe(1)
    expect(second.err).toContain(`process ${pid}`)
    const status = async () => (await mesh.call(meshHumanEndpoints.status)).json()
    await eventually('the settings were checked', async () =>
      JSON.stringify(await status()).includes('another file system'),
    )
    expect((await status())['default_model']).toMatchObject({ name: 'scripted/disk' })
    unmount()
    isMounted = false
    await eventually('it is ready', () => isReady(mesh))
    expect((await mesh.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
    expect(mesh.pid).toBe(pid)
  })

  it('a mesh in trouble with its disk lives through a limit of open files that it has reached, and works once the limit is higher', async () => {
    const { mesh } = await meshOnDisk({ sizeMb: 256 })
    const { pid } = mesh
    await mesh.ask('hello')
    const open = Number(execFileSync('sh', ['-c', `ls /proc/${pid}/fd | wc -l`]).toString())
    execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${open}:${open + 4096}`])
    for (let count = 0; count < 20; count++) await isReady(mesh)
    await mesh.submit('hello', { session: 'b' }).catch(() => undefined)
    execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${open + 4096}:${open + 4096}`])
    await eventually('it is ready', () => isReady(mesh))
    expect((await mesh.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
    expect(await mesh.createWorker('clerk')).toBeUndefined()
    expect((await mesh.ask('hello', { agent: 'clerk', session: 'c' })).outcome?.text).toBe('Yes.')
  })
})
