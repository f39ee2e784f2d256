import { meshNodeFlags } from '@flotilla/protocol/built-program'

import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'

/** What a unit must be told of the machine that it stands on. All paths are absolute. */
export interface UnitPlace {
  readonly node: string
  readonly mesh: string
  readonly home: string
  readonly path: string
  /** The system's own manager, which starts it with the machine; else that of one user. */
  readonly system: boolean
}

/** A word of a command line as systemd reads it: no specifier, no variable, no end of the word in it. Pure. */
function word(text: string): string {
  const plain = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$')
  return `"${plain}"`
}

/**
 * The unit that keeps the mesh of a home running. It holds what a program that speaks to a container engine, sets network
 * rules and mounts volumes can be held to; installing packages is not among what it may do. Pure.
 */
export function systemdUnit({ node, mesh, home, path, system }: UnitPlace): string {
  const command = [node, ...meshNodeFlags, mesh, 'serve', '--home', home].map(word).join(' ')
  return `[Unit]
Description=Flotilla, the mesh of ${home.replaceAll('%', '%%')}
Documentation=man:flotilla(1)
${system ? 'Wants=network-online.target\nAfter=network-online.target docker.service\n' : ''}
[Service]
Type=exec
ExecStart=${command}
Environment=${word(`PATH=${path}`)}
Environment=FLOTILLA_NO_INSTALL=1
Restart=on-failure
RestartSec=3
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

/** Only the manager of the system can build these. */
const systemWalls = `ProtectSystem=full
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
RestrictSUIDSGID=yes
KeyringMode=private
`
