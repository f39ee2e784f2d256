/**
 * The firewall rules that make an internal bridge a wall, as data and as the shell script that sets them. Pure.
 *
 * An engine's internal network only stops forwarding. Packets from a container to the host pass the INPUT chain, to
 * which engines add no rules, so every port of the host would be open to agents without these rules.
 */
export interface WallPlace {
  /** Bridge of the private network; at most 15 characters. */
  readonly bridge: string
  /** The mesh's address on it. */
  readonly gateway: string
  /** Ports of the agent API and the forward proxy. */
  readonly meshPorts: readonly number[]
}

export interface WallRules {
  readonly tool: 'iptables' | 'ip6tables'
  /** The home's own chain and its rules, in order. */
  readonly chain: string
  readonly rules: readonly string[]
  /** Rules in other chains that send traffic to the home's chain, or drop the traffic at once. */
  readonly hooks: readonly Hook[]
}

interface Hook {
  readonly chain: string
  readonly rule: string
  /** True for a chain that only some engines create. */
  readonly optional: boolean
}

/** Returns the name of the chain of a home's rules; at most 28 characters. */
export function chainOf(bridge: string): string {
  return `FLOTILLA-${bridge}`
}

const refusal = '-j REJECT --reject-with icmp-admin-prohibited'

export function wallRules(place: WallPlace): readonly WallRules[] {
  const { bridge, gateway } = place
  const chain = chainOf(bridge)
  const intoHost: Hook = { chain: 'INPUT', rule: `-i ${bridge} -j ${chain}`, optional: false }
  return [
    {
      tool: 'iptables',
      chain,
      rules: [
        '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
        ...place.meshPorts.map((port) => `-d ${gateway} -p tcp --dport ${port} -j ACCEPT`),
        refusal,
      ],
      hooks: [
        intoHost,
        // Nothing is forwarded to, from or between agents, even if the engine's own rules change.
        { chain: 'FORWARD', rule: `-i ${bridge} -j DROP`, optional: false },
        { chain: 'FORWARD', rule: `-o ${bridge} -j DROP`, optional: false },
        { chain: 'DOCKER-USER', rule: `-i ${bridge} -j DROP`, optional: true },
        { chain: 'DOCKER-USER', rule: `-o ${bridge} -j DROP`, optional: true },
        // These rules are inserted last and so apply first: a refused connection gets an immediate answer instead of
        // a timeout, the same for every address. The DROP rules behind them drop all other traffic.
        { chain: 'FORWARD', rule: `-i ${bridge} ${refusal}`, optional: false },
        { chain: 'DOCKER-USER', rule: `-i ${bridge} ${refusal}`, optional: true },
      ],
    },
    {
      tool: 'ip6tables',
      chain,
      rules: ['-j DROP'],
      hooks: [intoHost, { chain: 'FORWARD', rule: `-i ${bridge} -j DROP`, optional: false }],
    },
  ]
}

/**
 * Returns a script that sets the rules; a second run changes nothing. The chain is replaced in one commit, so it is
 * never empty while agents run.
 */
export function applyScript(place: WallPlace): string {
  return [
    'set -e',
    ...wallRules(place).flatMap(({ tool, chain, rules, hooks }) => [
      // A kernel without IPv6 has no ip6tables and no IPv6 traffic to block.
      tool === 'ip6tables' ? 'if [ -e /proc/net/if_inet6 ]; then' : 'if true; then',
      `${tool}-restore -w 5 --noflush <<'RULES'`,
      '*filter',
      `:${chain} - [0:0]`,
      ...rules.map((rule) => `-A ${chain} ${rule}`),
      'COMMIT',
      'RULES',
      ...hooks.map(
        (hook) =>
          `${tool} -w 5 -C ${hook.chain} ${hook.rule} 2>/dev/null || ${tool} -w 5 -I ${hook.chain} 1 ${hook.rule}${hook.optional ? ' 2>/dev/null || true' : ''}`,
      ),
      'fi',
    ]),
  ].join('\n')
}

/** Returns a script that removes what `applyScript` added; missing rules are no failure. */
export function removeScript(bridge: string): string {
  return wallRules({ bridge, gateway: '', meshPorts: [] })
    .flatMap(({ tool, chain, hooks }) => [
      ...hooks.map((hook) => `${tool} -w 5 -D ${hook.chain} ${hook.rule} 2>/dev/null`),
      `${tool} -w 5 -F ${chain} 2>/dev/null`,
      `${tool} -w 5 -X ${chain} 2>/dev/null`,
    ])
    .concat('true')
    .join('\n')
}
