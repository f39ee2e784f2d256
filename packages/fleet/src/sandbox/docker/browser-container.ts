import type Dockerode from 'dockerode'
import { browserServiceVariables as names } from '@flotilla/protocol/browser-service-api'
import { besideAgents, homeTag, sandboxHardening, spelledName } from '../sandbox-spec.ts'
import { hardenedHost, labelKeys } from '../hardening/container-options.ts'
import type { ContainerGround } from '../hardening/container-options.ts'

/** Options of one agent's browser container. */
export interface BrowserSpec {
  readonly agentId: string
  /** Raw Ed25519 public key of the mesh, base64url. */
  readonly meshPublicKey: string
  /** Port of the mesh's browser proxy on the network's gateway: the only destination of a browser's traffic. */
  readonly proxyPort: number
  /** Host directory mounted read-only at /briefing; holds `browserTokenFile` until the browser has read that file. */
  readonly briefingDirectory: string
}

/** Limits of a browser: memory for Chromium and eight tabs, and one processor while no other container needs it. */
export const browserSize = {
  memoryLimitBytes: besideAgents.browser,
  cpu: { quotaUs: 100_000, periodUs: 100_000 },
  pidsLimit: sandboxHardening.pidsLimit,
  tmpSizeBytes: sandboxHardening.tmpSizeBytes,
} as const

/** Size of /dev/shm, in which Chromium's processes share images; part of the container's memory. */
const sharedMemoryBytes = 256 * 1024 ** 2

/**
 * An agent has no capabilities; a browser needs these to install the egress filter and to become UID 1000 afterwards.
 */
const capabilities = ['NET_ADMIN', 'SETUID', 'SETGID'] as const

/**
 * Returns all options of a browser's container: an agent's hardening, the three capabilities that its first program
 * needs, and a seccomp filter that permits Chromium's own sandbox. `ground` has the image, network and filter of
 * browsers, which differ from those of agents. Pure.
 */
export function browserContainerOptions(
  ground: ContainerGround,
  spec: BrowserSpec,
): Dockerode.ContainerCreateOptions {
  const labels = {
    [labelKeys.home]: homeTag(ground.homeId),
    [labelKeys.role]: 'browser',
    [labelKeys.agent]: spec.agentId,
  }
  return {
    name: browserName(ground.homeId, spec.agentId),
    Image: ground.image,
    // The first program runs as root until the egress filter is installed; the server and its children have UID 1000.
    User: '0:0',
    WorkingDir: '/data',
    Hostname: 'browser',
    Env: Object.entries({
      [names.agentId]: spec.agentId,
      [names.meshPublicKey]: spec.meshPublicKey,
      [names.gateway]: ground.network.gateway,
      [names.proxyPort]: String(spec.proxyPort),
    }).map(([name, value]) => `${name}=${value}`),
    Labels: labels,
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...hardenedHost(ground, browserSize),
      CapAdd: [...capabilities],
      // Chromium's processes share memory, so the container has a private IPC namespace; agents have none.
      IpcMode: 'private',
      ShmSize: sharedMemoryBytes,
      Mounts: [
        {
          Type: 'volume',
          Source: browserVolumeName(ground.homeId, spec.agentId),
          Target: '/data',
          VolumeOptions: { NoCopy: false, Labels: labels, DriverConfig: { Name: 'local', Options: {} } },
        },
        { Type: 'bind', Source: spec.briefingDirectory, Target: '/briefing', ReadOnly: true },
      ],
    },
  }
}

export function browserName(homeId: string, agentId: string): string {
  return `${spelledName(homeId, agentId)}-browser`
}

/** Returns the name of the volume with a browser's profile: cookies, tabs and the data that pages store. */
export function browserVolumeName(homeId: string, agentId: string): string {
  return `${spelledName(homeId, agentId)}-profile`
}
