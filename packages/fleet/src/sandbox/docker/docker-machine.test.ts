import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  engineOfThisMachine,
  openDockerHome,
  useDockerHome,
  withEngine,
} from '../../../../../tests/docker/sandbox-lane.ts'
import { tryEscapes } from '../../../../../tests/support/escape-attempts.ts'
import { patient } from '../../../../../tests/support/patience.ts'
import { machineEnd } from '../machine/machine-end.ts'
import { sandboxHardening, sandboxName } from '../sandbox-spec.ts'
import { sandboxRuntimeConformance, subjectHands } from '../sandbox-runtime.conformance.ts'

const run = promisify(execFile)
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const found = await engineOfThisMachine()
const meshPort = 8420
/**
 * Building the image takes minutes on a machine without it, and each start is slow without hardware
 * virtualization.
 */
const slowMs = patient(900_000)

withEngine(
  'in machines of their own the runtime keeps its port',
  (engine) =>
    // Each run tests the same adapter without virtual machines; thirty kernels under software emulation would take
    // minutes of processor time.
    describe.runIf(isSoak)('in the soak tests', { timeout: slowMs }, () => {
      sandboxRuntimeConformance(
        'docker with machines',
        async () => {
          const home = await openDockerHome(engine)
          const { runtime, again, shareOf, close } = home
          return { runtime, again, shareOf, ...subjectHands, close }
        },
        { isolation: 'microvm' },
      )
    }),
  found,
)

withEngine(
  'an agent in a machine of its own',
  (engine) => {
    const home = useDockerHome(engine)
    const cpu = { quotaUs: 100_000, periodUs: 100_000 }
    const start = (agentId: string) => home().start({ agentId, isolation: 'microvm', cpu })
    const containerOf = (agentId: string) => engine.docker.getContainer(sandboxName(home().homeId, agentId))

    it.runIf(isSoak)(
      'an agent in a virtual machine can be had here, which one that is started shows',
      { timeout: slowMs },
      async () => {
        const { available, detail } = await home().runtime.tryRung('microvm')
        expect({ available, detail }).toEqual({
          available: true,
          detail: expect.stringMatching(/^QEMU /) as string,
        })
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine has every wall of a container, tried from inside',
      { timeout: slowMs },
      async () => {
        const listener = createServer((socket) => socket.on('error', () => {}).end('listener\n'))
        await new Promise<void>((resolve) => listener.listen(meshPort, home().runtime.listenHost(), resolve))
        const walls = await home().runtime.checkIsolation({ meshPort, rung: 'microvm' })
        await new Promise((resolve) => listener.close(resolve))
        expect(walls.filter(({ holds }) => !holds)).toEqual([])
        expect(walls.length).toBeGreaterThan(10)
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine lets nothing through that a container refuses',
      { timeout: slowMs },
      async () => {
        const inside = await tryEscapes(await start('escaper'))
        process.stderr.write(
          `${inside.map(({ attempt, outcome }) => `| ${attempt} | ${outcome} |`).join('\n')}\n`,
        )
        expect(inside.filter(({ held }) => !held).map(({ attempt }) => attempt)).toEqual([
          'read environment of the first process',
        ])
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine has what its limits say, and nothing else of QEMU',
      { timeout: slowMs },
      async () => {
        const state = await start('limited')
        const said = async (command: string) => (await home().run(state, command)).text.trim()
        expect(await said('ulimit -n; ulimit -c; id -u; grep CapEff /proc/self/status')).toMatch(
          /^8192\n0\n1000\nCapEff:\s+0+$/,
        )
        const mb = async (folder: string) => Number(await said(`df -m --output=size ${folder} | tail -n 1`))
        expect(await mb('/tmp')).toBe(sandboxHardening.tmpSizeBytes / 2 ** 20)
        expect(await mb('/data')).toBeGreaterThan(40)
        expect(await mb('/data')).toBeLessThanOrEqual(64)
        // Two disks, the console, the network and the bootstrap files.
        expect(await said('ls /sys/bus/virtio/devices | wc -l')).toBe('5')
        expect(await said('ls /dev | tr "\\n" " "')).not.toMatch(/vd|vport|ttyS|mem|kvm/)
        const { HostConfig } = await containerOf('limited').inspect()
        expect(HostConfig).toMatchObject({
          ReadonlyRootfs: true,
          Privileged: false,
          IpcMode: 'none',
          CapDrop: ['ALL'],
        })
        expect(HostConfig.Devices ?? []).toHaveLength(0)
      },
    )

    it.runIf(isSoak)(
      'an attacker in control of its QEMU cannot grow its disk beyond the limit of the agent',
      { timeout: slowMs },
      async () => {
        await start('prisoner')
        const disk = await stat(join(home().volumesFolder, `${Buffer.from('prisoner').toString('hex')}.ext4`))
        const at = (byte: number) =>
          besideQemu(
            'prisoner',
            `printf x | dd of=/machine/disk bs=1 seek=${byte} conv=notrunc; echo ended $?`,
          )
        // Without the limit this write would succeed.
        expect(await at(disk.size - 1)).toContain('ended 0')
        // The process was ended by SIGXFSZ.
        expect(await at(disk.size)).toContain('ended 153')
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine writes no file of a start where the agent would lead it',
      { timeout: slowMs },
      async () => {
        const first = await start('linker')
        expect((await home().run(first, 'ln -s /plan /data/deep && sync')).code).toBe(0)
        const ends: unknown[] = []
        const leave = home().runtime.onEnd((end) => ends.push(end))
        // Through the agent's link, this file would replace the configuration of its virtual machine.
        const files = { 'deep/config.json': '{}' }
        await home().runtime.start(home().specOf({ agentId: 'linker', isolation: 'microvm', cpu, files }))
        await expect.poll(() => ends, { timeout: patient(120_000) }).toHaveLength(1)
        leave()
        expect(ends).toEqual([{ agentId: 'linker', code: 70, outOfMemory: false }])
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine gets an error if this machine has no room for its disk, and keeps running',
      { timeout: slowMs },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'flotilla-small-'))
        await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder])
        const small = await openDockerHome(engine, { volumesFolder: folder })
        try {
          const state = await small.start({ agentId: 'crowded', isolation: 'microvm', cpu })
          const filled = await small.run(
            state,
            'dd if=/dev/urandom of=/data/much bs=1M count=48; sync /data/much',
          )
          expect(filled.code).not.toBe(0)
          expect((await small.run(state, 'echo lives')).text).toContain('lives')
        } finally {
          await small.close()
          await run('umount', [folder])
          await rm(folder, { recursive: true })
        }
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine outlives as many connections as its agent can open',
      { timeout: slowMs },
      async () => {
        const open = new Set<Socket>()
        const listener = createServer((socket) => open.add(socket.on('error', () => {})))
        await new Promise<void>((resolve) => listener.listen(meshPort, home().runtime.listenHost(), resolve))
        const state = await start('caller')
        const flood = `python3 -c "
import socket, time
held = []
for at in range(150):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect(('${home().runtime.listenHost()}', ${meshPort}))
        held.append(s)
    except OSError: pass
print('held', len(held))
open('/data/much', 'wb').write(bytes(20_000_000))
"`
        const { text } = await home().run(state, `${flood}; sync; echo lives`)
        process.stderr.write(`${text.trim()}, at the listener ${open.size}\n`)
        expect(text).toContain('lives')
        const reached = open.size
        for (const socket of open) socket.destroy()
        await new Promise((resolve) => listener.close(resolve))
        expect(reached).toBeGreaterThan(20)
        expect(reached).toBeLessThan(80)
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine ends for want of memory, and is named as that',
      { timeout: slowMs },
      async () => {
        const state = await start('eater')
        const ends: unknown[] = []
        const leave = home().runtime.onEnd((end) => ends.push(end))
        // Killing one program does not end the agent.
        const eaten = await home().run(state, `python3 -c "b=[bytearray(10**7) for _ in range(60)]"`)
        expect(eaten.code).toBe(137)
        expect(ends).toEqual([])
        await subjectHands.eatMemory(state)
        await expect.poll(() => ends, { timeout: patient(120_000) }).toHaveLength(1)
        leave()
        expect(ends).toEqual([{ agentId: 'eater', code: 137, outOfMemory: true }])
      },
    )

    it.runIf(isSoak)(
      'a microVM whose QEMU is killed is reported as ended, and starts again with its data',
      { timeout: slowMs },
      async () => {
        const state = await start('killed')
        await subjectHands.writeFile(state, 'kept', 'yes')
        expect((await home().run(state, 'sync')).code).toBe(0)
        const ends: unknown[] = []
        const leave = home().runtime.onEnd((end) => ends.push(end))
        process.kill(await processIn('killed', 'qemu-system-x86_64'), 'SIGKILL')
        await expect.poll(() => ends, { timeout: patient(60_000) }).toHaveLength(1)
        leave()
        expect(ends).toEqual([{ agentId: 'killed', code: 137, outOfMemory: false }])
        expect(await subjectHands.readFile(await start('killed'), 'kept')).toBe('yes')
      },
    )

    it.runIf(isSoak)(
      'a microVM whose kernel panics is reported as ended with an error',
      { timeout: slowMs },
      async () => {
        await start('panicked')
        const { Image, HostConfig, Config } = await containerOf('panicked').inspect()
        await home().runtime.remove('panicked', { data: false })
        // The first process of the machine needs this variable; without it, it ends, which panics the kernel.
        const env = Config.Env.filter((line) => !line.startsWith('MACHINE_SETTINGS='))
        const container = await engine.docker.createContainer({
          Image,
          HostConfig,
          Cmd: Config.Cmd,
          Env: [...env, 'MACHINE_SETTINGS=exit 1'],
          User: Config.User,
          Labels: { 'flotilla.home': home().homeTag, 'flotilla.role': 'trial' },
        })
        try {
          const ended = container.wait({ condition: 'next-exit' })
          await container.start()
          expect(await ended).toMatchObject({ StatusCode: 70 })
          expect(await machineEnd(engine, container.id)).toEqual({ code: 70, how: 'killed' })
        } finally {
          await container.remove({ force: true })
        }
      },
    )

    it.runIf(isSoak)(
      'an agent in a virtual machine comes from a container and goes back to one with its data',
      { timeout: slowMs },
      async () => {
        const before = await home().start({ agentId: 'mover', cpu })
        await subjectHands.writeFile(before, 'kept', 'yes')
        expect(await subjectHands.readFile(await start('mover'), 'kept')).toBe('yes')
        const larger = await home().start({
          agentId: 'mover',
          isolation: 'microvm',
          cpu,
          dataLimitBytes: 128 * 2 ** 20,
        })
        const blocks = Number((await home().run(larger, 'df -k /data | tail -n 1 | awk "{print \\$2}"')).text)
        expect(blocks).toBeGreaterThan(100_000)
        expect(await subjectHands.readFile(await home().start({ agentId: 'mover', cpu }), 'kept')).toBe('yes')
      },
    )

    /** Runs a command inside the container of QEMU, as its user. */
    async function besideQemu(agentId: string, command: string): Promise<string> {
      const asking = await containerOf(agentId).exec({
        Cmd: ['sh', '-c', command],
        AttachStdout: true,
        AttachStderr: true,
      })
      let text = ''
      for await (const piece of await asking.start({})) text += String(piece)
      return text
    }

    /** Finds the process of this program on this machine. */
    async function processIn(agentId: string, program: string): Promise<number> {
      const { Titles, Processes } = await containerOf(agentId).top()
      const at = (title: string) => Titles.indexOf(title)
      const row = Processes.find((one: readonly string[]) => one[at('CMD')]?.startsWith(program))
      if (!row) throw new Error(`${agentId} has no ${program}: ${JSON.stringify(Processes)}`)
      return Number(row[at('PID')])
    }
  },
  found,
)
