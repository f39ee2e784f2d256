import { access, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { volumeName, volumeLabels } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { runCommand } from '../../packages/fleet/src/sandbox/run-command.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import type { DockerHome } from './sandbox-lane.ts'
import { engineOfThisMachine, openDockerHome, useDockerHome, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const mb = 1024 * 1024
/** Unit of `ulimit -f`, bytes. */
const shellBlockBytes = 512
const isRoot = process.getuid?.() === 0

const run = (command: string, ...args: string[]) => runCommand(command, args, { timeoutMs: patient(30_000) })
const devicesOver = async (folder: string) =>
  (await run('losetup', '--list', '--noheadings', '--output', 'NAME,BACK-FILE')).stdout
    .split('\n')
    .filter((line) => line.includes(folder))
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

if (isRoot)
  withEngine(
    'a volume of a fixed size',
    (engine) => {
      const home = useDockerHome(engine)
      const imageOf = (agentId: string) =>
        join(home().volumesFolder, `${Buffer.from(agentId, 'utf8').toString('hex')}.ext4`)
      const sizeInside = async (state: Parameters<DockerHome['run']>[0]) =>
        Number((await home().run(state, 'df -B1 --output=size /data | tail -1')).text)

      it('a volume of a fixed size is what agents get here', () => {
        expect(home().runtime.dataBound()).toEqual({ kind: 'volume' })
      })

      it('a volume of a fixed size is the agent’s own, empty, in a file for the owner alone that takes what is in it', async () => {
        const state = await home().start({ agentId: 'fresh', dataLimitBytes: 5120 * mb })
        const seen = await home().run(
          state,
          'stat -c "%u %g %a" /data; ls -A /data | wc -l; grep " /data " /proc/mounts; ulimit -f; df --output=itotal /data | tail -1',
        )
        expect(seen.text).toMatch(/^1000 1000 700\n0\n/)
        expect(seen.text).toMatch(/ \/data ext4 rw,nosuid,nodev,noatime/)
        const [limit, inodes] = seen.text.trim().split('\n').slice(-2).map(Number)
        expect((limit ?? 0) * shellBlockBytes).toBe(5120 * mb)
        expect(inodes).toBe(327_680)
        const file = await stat(imageOf('fresh'))
        expect(file.mode & 0o777).toBe(0o600)
        expect(file.size).toBe(5120 * mb)
        expect(file.blocks * 512).toBeLessThan(64 * mb)
      })

      it('a volume of a fixed size refuses what is past its limit, in one file or in many, and the agent answers on', async () => {
        const state = await home().start({ agentId: 'greedy' })
        const one = await home().run(state, 'fallocate -l 6G /data/x; ls -s /data/x 2>/dev/null')
        expect(one.text).not.toMatch(/^[1-9]\d{4,}/)
        const many = await home().run(
          state,
          'for i in $(seq 20); do dd if=/dev/zero of=/data/f$i bs=1M count=8 2>&1 | grep -o "No space left.*"; done | sort -u; df --output=pcent /data | tail -1',
        )
        expect(many.text).toMatch(/No space left on device\s+(99|100)%/)
        expect((await stat(imageOf('greedy'))).blocks * 512).toBeLessThanOrEqual(65 * mb)
        const files = await home().run(
          state,
          'rm -f /data/f*; mkdir /data/d; cd /data/d; seq 30000 | xargs touch 2>&1 | grep -o "No space left.*" | head -1; df --output=ipcent /data | tail -1',
        )
        expect(files.text).toMatch(/No space left on device\s+(99|100)%/)
        expect((await home().run(state, 'rm -rf /data/d; echo alive')).text).toBe('alive\n')
      })

      it('a volume of a fixed size keeps its data over restarts of the agent and of the mesh, a killed container and a mesh that cannot attach it', async () => {
        const state = await home().start({ agentId: 'kept' })
        await home().run(state, 'echo one > /data/note')
        const other = await home().again({ uid: 1000 })
        onTestFinished(() => other.close())
        expect(other.dataBound()).toMatchObject({ kind: 'meter', why: 'the mesh does not run as root' })
        await expect(other.start(home().specOf({ agentId: 'kept' }))).rejects.toThrow(/cannot be attached/)
        const again = await home().start({ agentId: 'kept' })
        expect((await home().run(again, 'cat /data/note; echo two >> /data/note; sync')).text).toBe('one\n')
        await engine.docker.getContainer(sandboxName(home().homeId, 'kept')).kill()
        const later = await home().again()
        const third = await home().start({ agentId: 'kept' })
        expect((await home().run(third, 'cat /data/note')).text).toBe('one\ntwo\n')
        await later.close()
      })

      it('a volume of a fixed size leaves no device and no link behind that could lead to another’s data, and is found under another number, as after a reboot', async () => {
        const state = await home().start({ agentId: 'moved' })
        await home().run(state, 'echo mine > /data/note')
        expect(await exists(imageOf('moved').replace('.ext4', '.device'))).toBe(false)
        expect(await devicesOver(imageOf('moved'))).toHaveLength(1)
        await home().runtime.stop('moved', { graceMs: 2000 })
        await expect.poll(() => devicesOver(imageOf('moved')), { timeout: patient(10_000) }).toEqual([])

        // The state after a mesh was killed before it handed the loop device to the container.
        await run('losetup', '--find', '--show', '--nooverlap', imageOf('moved'))
        expect(await devicesOver(imageOf('moved'))).toHaveLength(1)
        const later = await home().again()
        onTestFinished(() => later.close())
        expect(await devicesOver(imageOf('moved'))).toEqual([])

        // Without its volume file the agent is refused, and does not start with an empty one.
        await rename(imageOf('moved'), `${imageOf('moved')}.backup`)
        await expect(home().start({ agentId: 'moved' })).rejects.toThrow(/data\/volumes.*\n?.*put it back/s)
        await rename(`${imageOf('moved')}.backup`, imageOf('moved'))

        // Another process takes the free loop device.
        const other = join(await mkdtemp(join(tmpdir(), 'flotilla-loop-')), 'other')
        await writeFile(other, Buffer.alloc(mb))
        const taken = (await run('losetup', '--find', '--show', other)).stdout.trim()
        onTestFinished(async () => {
          await run('losetup', '--detach', taken)
        })
        const again = await home().start({ agentId: 'moved' })
        expect((await home().run(again, 'cat /data/note')).text).toBe('mine\n')
      })

      it('a volume of a fixed size grows with its limit, keeps its size and says so where its data would not fit, gives back what is deleted, and shrinks', async () => {
        const held = async () => (await stat(imageOf('sized'))).blocks * 512
        const small = await home().start({ agentId: 'sized', dataLimitBytes: 64 * mb })
        await home().run(small, 'echo here > /data/note')
        const before = await sizeInside(small)
        const large = await home().start({ agentId: 'sized', dataLimitBytes: 300 * mb })
        expect(large.warnings).toBeUndefined()
        expect(await sizeInside(large)).toBeGreaterThan(before + 200 * mb)
        expect((await home().run(large, 'cat /data/note; ls -A /data')).text).toBe('here\nnote\n')

        await home().run(
          large,
          'dd if=/dev/urandom of=/data/big bs=1M count=120 2>/dev/null; md5sum /data/big > /data/sum; sync',
        )
        const full = await home().start({ agentId: 'sized', dataLimitBytes: 64 * mb })
        expect(full.warnings).toEqual([
          expect.stringMatching(/limit of 64 MB is smaller than the data.*keeps 300 MB/),
        ])
        expect((await home().run(full, 'md5sum -c /data/sum')).text).toContain('OK')
        expect(await held()).toBeGreaterThan(110 * mb)
        await home().run(full, 'rm /data/big /data/sum; sync')
        await expect.poll(held, { timeout: patient(20_000) }).toBeLessThan(50 * mb)

        const less = await home().start({ agentId: 'sized', dataLimitBytes: 100 * mb })
        expect(less.warnings).toBeUndefined()
        expect(await sizeInside(less)).toBeLessThan(100 * mb)
        expect((await stat(imageOf('sized'))).size).toBe(100 * mb)
        expect((await home().run(less, 'cat /data/note; ls -A /data')).text).toBe('here\nnote\n')
      })

      it('a volume of a fixed size is mended after it was cut off in the middle of writing', async () => {
        const state = await home().start({ agentId: 'cut' })
        await home().run(state, 'echo safe > /data/note; sync')
        const writing = home()
          .run(state, 'while :; do dd if=/dev/urandom of=/data/w$RANDOM bs=64k count=4 2>/dev/null; done')
          .catch(() => null)
        await new Promise((resolve) => setTimeout(resolve, 300))
        await run('cp', '--sparse=always', imageOf('cut'), `${imageOf('cut')}.copy`)
        await engine.docker.getContainer(sandboxName(home().homeId, 'cut')).kill()
        await writing
        // The content of the disk at the time of a power cut.
        await expect.poll(() => devicesOver(imageOf('cut')), { timeout: patient(10_000) }).toEqual([])
        await rename(`${imageOf('cut')}.copy`, imageOf('cut'))
        const again = await home().start({ agentId: 'cut' })
        expect((await home().run(again, 'cat /data/note; touch /data/writable && echo yes')).text).toBe(
          'safe\nyes\n',
        )
      })

      it('a volume of a fixed size leaves a volume from before limits as it is, and it is measured', async () => {
        const name = volumeName(home().homeId, 'older')
        await engine.docker.createVolume({ Name: name, Labels: volumeLabels(home().homeId, 'older') })
        const state = await home().start({ agentId: 'older' })
        expect((await home().run(state, 'grep -c " /data ext4.*nosuid" /proc/mounts')).text).toBe('0\n')
        await home().run(
          state,
          'mkdir /data/hidden; dd if=/dev/zero of=/data/hidden/x bs=1M count=20 2>/dev/null; chmod 0 /data/hidden',
        )
        const uses = await home().runtime.measureData(['older', 'fresh', 'nobody'])
        expect([...uses.keys()]).toEqual(['older'])
        expect(uses.get('older')?.complete).toBe(true)
        expect(uses.get('older')?.bytes).toBeGreaterThanOrEqual(20 * mb)
        expect(await exists(imageOf('older'))).toBe(false)
      })

      it('a volume of a fixed size goes away with its agent, and the next agent of that name begins empty', async () => {
        heedsLesson(10)
        const state = await home().start({ agentId: 'mortal' })
        await home().run(state, 'echo mine > /data/note')
        await home().runtime.remove('mortal', { data: true })
        expect(await exists(imageOf('mortal'))).toBe(false)
        await expect.poll(() => devicesOver(imageOf('mortal')), { timeout: patient(10_000) }).toEqual([])
        const next = await home().start({ agentId: 'mortal' })
        expect((await home().run(next, 'ls -A /data')).text).toBe('')
      })
    },
    found,
  )

if (isRoot)
  withEngine(
    'a home with volumes of a fixed size',
    (engine) => {
      it('a volume of a fixed size may be moved, and leaves no file and no device once it is erased', async () => {
        const first = await mkdtemp(join(tmpdir(), 'flotilla-volumes-'))
        const home = await openDockerHome(engine, { volumesFolder: first })
        onTestFinished(() => home.close())
        const [state] = await Promise.all(['nomad', 'other'].map((agentId) => home.start({ agentId })))
        if (state === undefined) throw new Error('two were started')
        await home.run(state, 'echo mine > /data/note')
        for (const agentId of ['nomad', 'other']) await home.runtime.remove(agentId, { data: false })
        const second = `${first}-moved`
        await rename(first, second)
        onTestFinished(() => rm(second, { recursive: true, force: true }))
        const moved = await home.again({ volumesFolder: second })
        onTestFinished(() => moved.close())
        const [again] = await Promise.all(
          ['nomad', 'other'].map((agentId) => moved.start(home.specOf({ agentId }))),
        )
        if (again === undefined) throw new Error('two were started')
        await expect
          .poll(
            () =>
              home.run(again, 'cat /data/note').then(
                (said) => said.text,
                () => '',
              ),
            { timeout: patient(20_000) },
          )
          .toBe('mine\n')
        expect(await devicesOver(second)).toHaveLength(2)
        const later = await home.again({ volumesFolder: second })
        onTestFinished(() => later.close())
        await later.erase({ progress: () => {} })
        expect(await exists(second)).toBe(false)
        await expect.poll(() => devicesOver(second), { timeout: patient(10_000) }).toEqual([])
      })

      it('a volume that cannot be mounted is metered, with the reason', async () => {
        const folder = await mkdtemp(join(tmpdir(), 'flotilla-no-loop-'))
        onTestFinished(() => rm(folder, { recursive: true, force: true }))
        // A `losetup` that fails, as on a machine whose kernel has no free loop devices.
        await mkdir(join(folder, 'bin'))
        await writeFile(join(folder, 'bin', 'losetup'), '#!/bin/sh\necho no free device >&2\nexit 1\n', {
          mode: 0o755,
        })
        const home = await openDockerHome(engine, {
          path: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        })
        onTestFinished(() => home.close())
        expect(home.runtime.dataBound()).toMatchObject({
          kind: 'meter',
          why: expect.stringContaining('no free device') as unknown,
        })
        const state = await home.start({ agentId: 'plain' })
        expect((await home.runtime.measureData(['plain'])).get('plain')?.files).toBeGreaterThan(0)
        expect((await home.run(state, 'ulimit -f')).text.trim()).toBe(String((100 * mb) / shellBlockBytes))
        expect(await readFile(join(home.volumesFolder, 'x'), 'utf8').catch(() => null)).toBeNull()
      })
    },
    found,
  )
