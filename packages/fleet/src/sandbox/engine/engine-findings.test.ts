import { describe, expect, it } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { engineFindings, type EngineFacts } from './engine-findings.ts'
import { socketCandidates } from './socket-candidates.ts'

function facts(changes: Partial<EngineFacts> = {}): EngineFacts {
  return {
    flavour: 'docker',
    version: '20.10.24',
    apiVersion: '1.41',
    operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
    osType: 'linux',
    kernelVersion: '6.1.0',
    hostKernelVersion: '6.1.0',
    securityOptions: ['name=seccomp,profile=default'],
    memoryLimit: true,
    pidsLimit: true,
    cpuQuota: true,
    ...changes,
  }
}

const bad = (changes: Partial<EngineFacts>) => engineFindings(facts(changes)).filter((finding) => !finding.ok)

describe('engineFindings', () => {
  it('engineFindings finds nothing wrong with a rootful engine on this kernel', () => {
    expect(bad({})).toEqual([])
  })

  it.each<readonly [string, Partial<EngineFacts>]>([
    ['engine-is-rootful', { securityOptions: ['name=seccomp,profile=default', 'name=rootless'] }],
    ['engine-is-on-this-machine', { operatingSystem: 'Docker Desktop' }],
    ['engine-is-on-this-machine', { kernelVersion: '5.15.0-linuxkit' }],
    ['engine-is-linux', { osType: 'windows' }],
    ['engine-api-new-enough', { apiVersion: '1.39' }],
    ['engine-has-seccomp', { securityOptions: [] }],
    ['engine-limits-apply', { pidsLimit: false }],
  ])('%s is refused with a repair', (id, changes) => {
    expect(bad(changes).map((finding) => finding.id)).toEqual([id])
    expect(bad(changes)[0]?.repair).not.toBe('')
  })

  it.each(['4.57.0', '4.58.0', '5.0.0'])(
    'a desktop container runtime %s is refused whole, so that machines of agents are never its sandboxes',
    (version) => {
      verifies('purpose:backend:microvm-version')
      const [found] = bad({ operatingSystem: 'Docker Desktop', version })
      expect(found).toMatchObject({ id: 'engine-is-on-this-machine' })
      expect(found?.repair).toContain('Run Flotilla on Linux beside the engine')
      // A Linux engine, of a version that no desktop runtime includes.
      expect(bad({ version: '20.10.24' })).toEqual([])
    },
  )
})

describe('socketCandidates', () => {
  it('an explicit socket is the only one asked', () => {
    expect(
      socketCandidates({ engineSocket: 'unix:///x.sock', dockerHost: 'unix:///y.sock', uid: 0 }),
    ).toEqual(['/x.sock'])
    expect(socketCandidates({ dockerHost: 'unix:///y.sock', uid: 0 })).toEqual(['/y.sock'])
  })

  it('an engine on another machine is not asked', () => {
    expect(socketCandidates({ dockerHost: 'tcp://elsewhere:2375', uid: 7 })).toContain('/var/run/docker.sock')
    expect(socketCandidates({ uid: 7 })).toContain('/run/user/7/podman/podman.sock')
  })
})
