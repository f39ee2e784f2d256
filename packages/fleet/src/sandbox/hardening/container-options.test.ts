import { describe, expect, it } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aSpec } from '../sandbox-runtime.conformance.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import {
  agentCommand,
  containerOptions,
  killedFirst,
  volumeName,
  type ContainerGround,
} from './container-options.ts'
import { logText } from '../engine/log-text.ts'
import { seedEntries } from './seed-entries.ts'

const ground: ContainerGround = {
  homeId: 'home',
  image: 'image',
  network: { name: 'net', gateway: '10.64.0.1' },
  seccomp: '{}',
  ulimits: [],
  sysctls: {},
  logOptions: { Type: 'json-file', Config: {} },
  limitsTmpfsFiles: true,
}

describe('containerOptions', () => {
  it('containerOptions publishes nothing, keeps nothing by itself and holds no capability', () => {
    heedsLesson(2, 89, 97)
    const options = containerOptions(ground, aSpec({ briefingDirectory: '/b' }))
    expect(options.ExposedPorts).toBeUndefined()
    expect(options.HostConfig?.PortBindings).toBeUndefined()
    expect(options.HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      RestartPolicy: { Name: 'no' },
      PublishAllPorts: false,
      NetworkMode: 'net',
    })
    expect(options.HostConfig?.CapAdd).toBeUndefined()
    expect(options.HostConfig?.NanoCpus).toBeUndefined()
  })

  it('a tmpfs has a maximum number of files where the engine accepts one', () => {
    const of = (limitsTmpfsFiles: boolean) =>
      Object.values(
        containerOptions({ ...ground, limitsTmpfsFiles }, aSpec({ briefingDirectory: '/b' })).HostConfig
          ?.Tmpfs ?? {},
      ).map((options) => /nr_inodes=\d+/.exec(options)?.[0])
    expect(of(true)).toEqual(['nr_inodes=32768', 'nr_inodes=1'])
    expect(of(false)).toEqual([undefined, undefined])
  })

  it('containerOptions gives the operator its quota over the long period', () => {
    const options = containerOptions(
      ground,
      aSpec({ briefingDirectory: '/b', kind: 'operator', ...sandboxSizes.operator }),
    )
    expect(options.HostConfig).toMatchObject({
      CpuPeriod: 1_000_000,
      CpuQuota: 50_000,
      Memory: 134_217_728,
      MemorySwap: 134_217_728,
    })
  })

  it('the kernel ends agents before the mesh and the engine, and builds and their own programs before agents', () => {
    const agent = containerOptions(ground, aSpec({ briefingDirectory: '/b' })).HostConfig?.OomScoreAdj ?? 0
    expect(agent).toBeGreaterThan(0)
    expect(agent).toBeLessThan(500)
    expect(killedFirst.build).toBeGreaterThan(agent)
  })

  it('no file can be larger than all of /data, or all of /tmp', () => {
    const largest = (dataLimitBytes: number) =>
      containerOptions(ground, aSpec({ briefingDirectory: '/b', dataLimitBytes })).HostConfig?.Ulimits
    const gigabyte = 1024 ** 3
    expect(largest(gigabyte)).toEqual([{ Name: 'fsize', Soft: gigabyte, Hard: gigabyte }])
    expect(largest(1)).toEqual([{ Name: 'fsize', Soft: 104_857_600, Hard: 104_857_600 }])
  })

  it('behind gVisor the agent has the same limits, and its kernel has room of its own', () => {
    const spec = aSpec({ briefingDirectory: '/b', isolation: 'gvisor' })
    const shared = containerOptions(ground, spec).HostConfig
    const own = containerOptions(ground, spec, {
      gvisor: { runtime: 'runsc', nodePath: '/cache/node', seccomp: '{"own":1}' },
    }).HostConfig
    expect(shared?.Runtime).toBeUndefined()
    expect(own).toMatchObject({ Runtime: 'runsc', CpuQuota: 75_000, ReadonlyRootfs: true, CapDrop: ['ALL'] })
    expect(own?.Ulimits).toContainEqual({ Name: 'nproc', Soft: 256, Hard: 256 })
    expect(own?.Ulimits).toContainEqual(expect.objectContaining({ Name: 'fsize' }))
    expect(own?.Memory).toBeGreaterThan(sandboxSizes.worker.memoryLimitBytes)
    expect(own?.MemorySwap).toBe(own?.Memory)
    expect(own?.SecurityOpt).toEqual(['no-new-privileges', 'seccomp={"own":1}'])
    expect(own?.PidsLimit).toBeGreaterThan(256)
    expect(own?.Mounts).toContainEqual({
      Type: 'bind',
      Source: '/cache/node',
      Target: '/usr/local/bin/node',
      ReadOnly: true,
    })
    expect(own?.Mounts?.map(({ Target }) => Target)).toEqual(
      expect.arrayContaining(['/data', '/briefing']) as string[],
    )
  })

  it('a spec cannot take over the labels, the home or the compile cache', () => {
    const spec = aSpec({
      briefingDirectory: '/b',
      labels: { 'flotilla.home': 'other', 'flotilla.agent': 'other' },
      environment: { HOME: '/tmp', NODE_COMPILE_CACHE: '/tmp' },
    })
    const options = containerOptions(ground, spec)
    expect(options.Labels).toMatchObject({ 'flotilla.agent': 'scout', 'flotilla.role': 'agent' })
    expect(options.Labels?.['flotilla.home']).not.toBe('other')
    expect(options.Env).toEqual([
      'HOME=/data',
      'NODE_COMPILE_CACHE=/opt/flotilla/compile-cache',
      'MALLOC_ARENA_MAX=1',
      'MALLOC_TRIM_THRESHOLD_=131072',
      'npm_config_cache=/data/.npm',
      'PIP_CACHE_DIR=/data/.cache/pip',
      'UV_CACHE_DIR=/data/.cache/uv',
      'CARGO_HOME=/data/.cargo',
      'GOPATH=/data/go',
      'GOTMPDIR=/data',
    ])
  })

  it('container and host names do not reveal the agent and cannot be guessed from another home', () => {
    const options = containerOptions(ground, aSpec({ briefingDirectory: '/b', agentId: 'scout' }))
    for (const name of [options.name, options.Hostname]) {
      expect(name).toMatch(/^flotilla-[0-9a-f]{8}-[0-9a-f]{32}$/)
      expect(name).not.toContain(Buffer.from('scout').toString('hex'))
    }
    const elsewhere = containerOptions({ ...ground, homeId: 'other' }, aSpec({ briefingDirectory: '/b' }))
    expect(elsewhere.name?.slice(-32)).not.toBe(options.name?.slice(-32))
  })

  it('ids that differ by a dash alone have volumes of their own', () => {
    heedsLesson(11)
    expect(volumeName('home', 'a-b')).not.toBe(volumeName('home', 'a_b'))
    expect(volumeName('home', 'a')).not.toBe(volumeName('other', 'a'))
  })

  it('the heap fits into half of the memory', () => {
    expect(agentCommand(128 * 1024 * 1024)[0]).toBe('/usr/local/bin/node')
    expect(agentCommand(128 * 1024 * 1024)).toContain('--max-old-space-size=64')
    expect(agentCommand(384 * 1024 * 1024)).toContain('--max-old-space-size=192')
  })
})

describe('seedEntries', () => {
  it('seedEntries makes the folders of a file before it, each for the agent alone', () => {
    const entries = seedEntries({ 'a/b/c': 'x' }).map(({ name, mode, uid }) => ({ name, mode, uid }))
    expect(entries).toEqual([
      { name: 'a/', mode: 0o700, uid: 1000 },
      { name: 'a/b/', mode: 0o700, uid: 1000 },
      { name: 'a/b/c', mode: 0o600, uid: 1000 },
    ])
  })

  it.each(['/etc/x', '../x', 'a/../../x', 'a/', '', './a', '..'])(
    'seedEntries refuses the path "%s"',
    (path) => {
      expect(() => seedEntries({ [path]: 'x' })).toThrow(/outside \/data/)
    },
  )
})

/** A piece of a log as engines send it. */
const piece = (stream: number, text: string) => {
  const head = Buffer.alloc(8)
  head.writeUInt8(stream, 0)
  head.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([head, Buffer.from(text)])
}

describe('logText', () => {
  it('logText joins the pieces of both streams', () => {
    expect(logText(Buffer.concat([piece(1, 'out\n'), piece(2, 'é\n')]))).toBe('out\né\n')
  })

  it('logText takes a plain log as it is', () => {
    expect(logText(Buffer.from('plain text'))).toBe('plain text')
  })
})
