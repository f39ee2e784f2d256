import { expect, test } from 'vitest'
import * as z from 'zod'
import type { ContainerGround } from '../hardening/container-options.ts'
import { aSpec } from '../sandbox-runtime.conformance.ts'
import { tarFile } from '../tar-archive.ts'
import { readEnd } from './machine-end.ts'
import { machineOptions } from './machine-options.ts'
import type { MachineGround } from './machine-plan.ts'

const ground: ContainerGround = {
  homeId: 'home',
  image: 'agents',
  network: { name: 'net', gateway: '10.1.0.1' },
  seccomp: JSON.stringify({ defaultAction: 'SCMP_ACT_ERRNO', syscalls: [{ names: ['read'] }] }),
  ulimits: [],
  sysctls: {},
  logOptions: { Type: 'json-file', Config: {} },
  limitsTmpfsFiles: true,
}
const machine: MachineGround = {
  image: 'machines',
  rootDisk: '/cache/root.ext4',
  kvm: null,
  meshAddresses: ['10.1.0.1:8420', '10.1.0.1:8421'],
}
const disk = { path: '/volumes/a.ext4', fileBytes: 64 * 2 ** 20, blocks: 0 }

const configSchema = z.looseObject({
  process: z.looseObject({
    user: z.unknown(),
    args: z.array(z.string()),
    capabilities: z.record(z.string(), z.array(z.string())),
    noNewPrivileges: z.boolean(),
    env: z.array(z.string()),
  }),
  root: z.unknown(),
  mounts: z.array(z.looseObject({ destination: z.string(), options: z.array(z.string()) })),
  linux: z.looseObject({ seccomp: z.unknown() }),
})

async function aMachine(more: Partial<MachineGround> = {}) {
  const spec = aSpec({ briefingDirectory: '/briefings/a', isolation: 'microvm', environment: { SAYS: 'so' } })
  const files = [tarFile('token', Buffer.from('t-1'), { uid: 1000, mode: 0o600 })]
  const options = await machineOptions({ ground, machine: { ...machine, ...more } }, spec, { disk, files })
  const variables = new Map(
    (options.Env ?? []).map((line): [string, string] => {
      const at = line.indexOf('=')
      return [line.slice(0, at), line.slice(at + 1)]
    }),
  )
  const config = configSchema.parse(JSON.parse(variables.get('MACHINE_CONFIG') ?? ''))
  return { spec, options, variables, config }
}

test('QEMU runs behind every wall of a container and has only what it uses', async () => {
  const { options, spec } = await aMachine()
  expect(options).toMatchObject({ Image: 'machines', User: '1000:1000', Cmd: ['/machine/launch.sh'] })
  expect(options.HostConfig).toMatchObject({
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges', `seccomp=${ground.seccomp}`],
    ReadonlyRootfs: true,
    CpuQuota: spec.cpu.quotaUs,
    NetworkMode: 'net',
    Mounts: [
      { Source: '/cache/root.ext4', Target: '/machine/root.ext4', ReadOnly: true },
      { Source: disk.path, Target: '/machine/disk', ReadOnly: false },
      { Source: '/briefings/a', Target: '/machine/briefing', ReadOnly: true },
    ],
  })
  expect(options.HostConfig?.Memory).toBe(options.HostConfig?.MemorySwap)
  expect(options.HostConfig?.Ulimits).toContainEqual({
    Name: 'fsize',
    Soft: disk.fileBytes,
    Hard: disk.fileBytes,
  })
  expect(options.HostConfig?.Devices).toBeUndefined()
  expect(Object.keys(options.HostConfig?.Tmpfs ?? {})).toEqual(['/run', '/dev/mqueue'])
})

test('where the processor helps, QEMU has that device alone', async () => {
  const { options, variables } = await aMachine({ kvm: { device: '/dev/kvm', group: 104 } })
  expect(options.HostConfig?.Devices).toEqual([
    { PathOnHost: '/dev/kvm', PathInContainer: '/dev/kvm', CgroupPermissions: 'rw' },
  ])
  expect(options.HostConfig?.GroupAdd).toEqual(['104'])
  expect(variables.get('MACHINE_ACCELERATION')).toBe('kvm')
})

test('an agent in a virtual machine has the walls of a container again', async () => {
  const { config, spec } = await aMachine()
  expect(config.process.user).toEqual({ uid: 1000, gid: 1000 })
  expect(config.process.noNewPrivileges).toBe(true)
  expect(Object.values(config.process.capabilities).flat()).toEqual([])
  expect(config.root).toEqual({ path: '/agent', readonly: true })
  expect(config.linux.seccomp).toEqual(JSON.parse(ground.seccomp))
  expect(config.process.env).toContain('SAYS=so')
  const optionsOf = (path: string) => config.mounts.find(({ destination }) => destination === path)?.options
  expect(optionsOf('/tmp')).toEqual(
    expect.arrayContaining(['noexec', 'nosuid', 'nodev', `size=${spec.tmpSizeBytes}`]),
  )
  expect(optionsOf('/briefing')).toContain('ro')
  expect(optionsOf('/sys')).toContain('ro')
})

test('the machine receives its limits, the address of the mesh and its files', async () => {
  const { variables, spec } = await aMachine()
  const settings = variables.get('MACHINE_SETTINGS')?.split('\n')
  expect(settings).toContain(`AGENT_MEMORY=${spec.memoryLimitBytes}`)
  expect(settings).toContain(`AGENT_PROCESSES=${spec.pidsLimit}`)
  expect(variables.get('MACHINE_DOORS')).toBe('10.1.0.1:8420 10.1.0.1:8421')
  expect(Number(variables.get('MACHINE_MEMORY_MB'))).toBeGreaterThan(spec.memoryLimitBytes / 2 ** 20)
  expect(Buffer.from(variables.get('MACHINE_FILES') ?? '', 'base64').toString('latin1')).toContain('t-1')
})

test('the end of a virtual machine is its launcher’s last line, and nothing that looks like it before', () => {
  expect(readEnd('noise\nmachine-ended 137 memory\n')).toEqual({ code: 137, how: 'memory' })
  expect(readEnd('machine-ended 0 ended\nqemu: terminating on signal 15\n')).toBeNull()
  expect(readEnd('machine-ended 137 ran')).toBeNull()
  expect(readEnd('')).toBeNull()
})
