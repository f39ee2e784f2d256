import { programNodeFlags } from '@flotilla/protocol/built-program'

import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'

/** The least delay before a restart by systemd, milliseconds; as long as a failing storage delays one. */
export const serviceRestartMs = 2000

/** What a unit needs to know about its machine. All paths are absolute. */
export interface UnitPlace {
  readonly node: string
  readonly mesh: string
  /** The command that delays restarts, without the program of Node. */
  readonly pace: readonly string[]
  readonly home: string
  readonly path: string
  /** True for a unit of the system's service manager, which starts it at boot; false for a user's manager. */
  readonly system: boolean
}

/** A path escaped for systemd: without specifiers and separators. Pure. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`
}

/** A command-line word escaped for systemd, also without variables. Pure. */
function word(text: string): string {
  return quoted(text).replaceAll('$', '$$$$')
}

/** The home that the command of a unit names; null if it names none. Pure. */
export function homeInUnit(unit: string): string | null {
  const found = /^ExecStart=.* "--home" "((?:[^"\\]|\\.)*)"/m.exec(unit)?.[1]
  return found === undefined
    ? null
    : found.replaceAll('$$', '$').replaceAll('%%', '%').replaceAll(/\\(.)/g, '$1')
}

/**
 * The systemd unit of the mesh of a home. It restricts the mesh as far as possible for a program that uses a
 * container engine, sets network rules and mounts volumes; it may not install packages. Pure.
 */
export function systemdUnit({ node, mesh, pace, home, path, system }: UnitPlace): string {
  const pacing = [node, ...pace].map(word).join(' ')
  const command = [node, ...programNodeFlags, mesh, 'serve', '--home', home].map(word).join(' ')
  return `[Unit]
Description=Flotilla, the mesh of ${home.replaceAll('%', '%%')}
Documentation=man:flotilla(1)
# Without its disk the mesh would begin another fleet in the empty folder.
RequiresMountsFor=${quoted(home)}
# Restarts never end: the disk of the home may recover at any time.
StartLimitIntervalSec=0
${system ? 'Wants=network-online.target\nAfter=network-online.target docker.service\n' : ''}
[Service]
Type=exec
# Waits longer before each restart of a mesh that fails again and again. A start by a person has no delay.
ExecStartPre=-${pacing}
ExecStart=${command}
RuntimeDirectory=flotilla
RuntimeDirectoryPreserve=restart
Environment=${word(`PATH=${path}`)}
Environment=FLOTILLA_NO_INSTALL=1
Restart=on-failure
RestartSec=${serviceRestartMs}ms
# The owner must change something first: a restart cannot mend it.
RestartPreventExitStatus=${ownerMustActExitCode}
# The agents are stopped first; a mesh that is killed loses nothing, and the next one adopts them.
TimeoutStopSec=90
KillMode=mixed
UMask=0077
LimitCORE=0
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
${system ? systemWalls : ''}
[Install]
WantedBy=${system ? 'multi-user.target' : 'default.target'}
`
}

/** Only the system's service manager supports these settings. */
const systemWalls = `ProtectSystem=full
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
RestrictSUIDSGID=yes
KeyringMode=private
`
