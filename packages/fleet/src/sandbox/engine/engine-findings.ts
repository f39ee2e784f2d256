/**
 * A fact about an engine and whether it is ok. Pure: `doctor` prints the findings, and `ensureEngine` rejects an
 * engine with a finding that is not ok.
 */
export interface Finding {
  /** Stable id in kebab-case. */
  readonly id: string
  readonly ok: boolean
  readonly detail: string
  /** What the owner should do about the finding; empty if it is ok. */
  readonly repair: string
}

/** The fields of `GET /info` and `GET /version` on which the findings depend. */
export interface EngineFacts {
  readonly flavour: 'docker' | 'podman'
  readonly version: string
  readonly apiVersion: string
  readonly operatingSystem: string
  readonly osType: string
  readonly kernelVersion: string
  /** Version of the kernel on which the mesh itself runs. */
  readonly hostKernelVersion: string
  readonly securityOptions: readonly string[]
  readonly memoryLimit: boolean
  readonly pidsLimit: boolean
  readonly cpuQuota: boolean
}

const oldestApi = [1, 40] as const

export function engineFindings(facts: EngineFacts): readonly Finding[] {
  return [
    finding('engine-is-linux', facts.osType === 'linux', {
      detail: `containers run on ${facts.osType}`,
      repair: 'Switch the engine to Linux containers.',
    }),
    finding('engine-is-rootful', !isRootless(facts), {
      detail: isRootless(facts)
        ? 'the engine runs without root, so the firewall rules that isolate agents cannot reach its networks'
        : 'the engine runs as root',
      repair:
        'Use a rootful engine: set FLOTILLA_ENGINE_SOCKET=/var/run/docker.sock (or /run/podman/podman.sock).',
    }),
    finding('engine-is-on-this-machine', !isElsewhere(facts), {
      detail: isElsewhere(facts)
        ? `the engine runs in a virtual machine (${facts.operatingSystem}, kernel ${facts.kernelVersion}), so the mesh cannot listen on the engine’s network`
        : `the engine shares this machine's kernel (${facts.kernelVersion})`,
      repair: 'Run Flotilla on Linux beside the engine, for instance inside that virtual machine.',
    }),
    finding('engine-api-new-enough', !olderThan(facts.apiVersion, oldestApi), {
      detail: `${facts.flavour} ${facts.version}, API ${facts.apiVersion}`,
      repair: `Update the engine: its API must be ${oldestApi.join('.')} or newer.`,
    }),
    finding('engine-has-seccomp', hasSeccomp(facts), {
      detail: hasSeccomp(facts) ? 'system call filters apply' : 'the engine applies no system call filter',
      repair: 'Use a kernel and an engine built with seccomp.',
    }),
    finding('engine-limits-apply', facts.memoryLimit && facts.pidsLimit && facts.cpuQuota, {
      detail: `limits: memory ${yesNo(facts.memoryLimit)}, processes ${yesNo(facts.pidsLimit)}, CPU ${yesNo(facts.cpuQuota)}`,
      repair: 'Mount the cgroup controllers memory, pids and cpu, then restart the engine.',
    }),
  ]
}

function finding(id: string, ok: boolean, texts: { detail: string; repair: string }): Finding {
  return { id, ok, detail: texts.detail, repair: ok ? '' : texts.repair }
}

function isRootless(facts: EngineFacts): boolean {
  return facts.securityOptions.some((option) => option.includes('rootless'))
}

function isElsewhere(facts: EngineFacts): boolean {
  return (
    /desktop|colima|rancher|orbstack/i.test(facts.operatingSystem) ||
    facts.kernelVersion !== facts.hostKernelVersion
  )
}

function hasSeccomp(facts: EngineFacts): boolean {
  return facts.securityOptions.some((option) => option.includes('seccomp'))
}

function olderThan(version: string, oldest: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1])
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no'
}
