import { useState } from 'react'
import type { PolicyStops } from '@flotilla/protocol/policy-api'
import type { PolicyView } from '@flotilla/protocol/control-api'
import { formatCount } from '../data/format.ts'
import { useAction, useMesh } from '../data/use-mesh.ts'
import { Act } from '../design/act.tsx'
import { CodeBlock } from '../design/code-block.tsx'
import { Confirm } from '../design/confirm.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { Points } from '../design/points.tsx'
import { Table } from '../design/table.tsx'
import type { Tone } from '../live/state-tone.ts'

type Rule = PolicyView['rules'][number]
type Stop = PolicyStops['stops'][number]

/** There is no event for a decision of a rule, so the page polls, in milliseconds. */
const readEveryMs = 10_000

/** A beginning for the file: presets that allow reading and ask before writing. */
const firstRules = `rules:
  - preset: git-host
  - preset: npm
  - preset: slack
`

/** The owner's rules with their hit counts, and what they stopped, with a rule that would allow it. */
export function PolicyPage() {
  const policy = useMesh('policy', {}, { refetchInterval: readEveryMs })
  const stops = useMesh('policyStops', {}, { refetchInterval: readEveryMs })
  const broken = policy.data?.broken ?? null
  return (
    <div className="page">
      <PageHead title="Policy">
        {policy.data && (
          <Badge tone={broken === null ? (policy.data.rules.length > 0 ? 'ok' : 'neutral') : 'bad'}>
            {broken === null ? formatCount(policy.data.rules.length, 'rule') : 'invalid'}
          </Badge>
        )}
      </PageHead>
      {policy.isPending && <Loading />}
      {policy.error && <Failed error={policy.error} retry={policy.refetch} />}
      {broken !== null && (
        <section className="card" aria-label="Fault">
          <Empty title="Everything that agents do outside of their containers is denied">{broken}</Empty>
        </section>
      )}
      {policy.data && broken === null && <Rules rules={policy.data.rules} file={policy.data.file} />}
      {stops.error && <Failed error={stops.error} retry={stops.refetch} />}
      {stops.data && <Stopped stops={stops.data.stops} isCut={stops.data.truncated} />}
    </div>
  )
}

function Rules({ rules, file }: { readonly rules: readonly Rule[]; readonly file: string }) {
  if (rules.length === 0) {
    return (
      <section className="card" aria-label="Rules">
        <Empty title="No rules">
          The permission records decide alone. Rules in {file} can ask you first, or deny. To be asked before
          an agent pushes, publishes or posts, write this into the file:
        </Empty>
        <div className="body">
          <CodeBlock language="yaml" text={firstRules}>
            {firstRules}
          </CodeBlock>
        </div>
      </section>
    )
  }
  return (
    <Card title="Rules">
      <Table label="Table of rules" columns={['Rule', 'Verdict', 'Matches', 'Hits', 'Last', 'Line']}>
        {rules.map((rule) => (
          <tr key={rule.name}>
            <td>
              {rule.name}
              {rule.reason !== '' && <div className="small muted">{rule.reason}</div>}
            </td>
            <td data-label="Verdict">
              <Badge tone={toneOf(rule.verdict)}>{rule.verdict}</Badge>
            </td>
            <td data-label="Matches" className="mono small">
              {matchText(rule)}
            </td>
            <td data-label="Hits">{rule.hits}</td>
            <td className="muted">{rule.last_hit_at === null ? '—' : <Ago at={rule.last_hit_at} />}</td>
            <td data-label="Line">{rule.line}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function Stopped({ stops, isCut }: { readonly stops: readonly Stop[]; readonly isCut: boolean }) {
  const [chosen, setChosen] = useState<Stop | null>(null)
  if (stops.length === 0) {
    return (
      <section className="card" aria-label="Stopped">
        <Empty title="Nothing was stopped">
          What rules asked for or denied in the last seven days is listed here.
        </Empty>
      </section>
    )
  }
  return (
    <Card title="Stopped in the last seven days">
      <Table label="Table of stopped effects" columns={['Agent', 'What', 'By', 'Times', 'Last']} hasActions>
        {stops.map((stop) => (
          <tr key={[stop.agent_id, stop.rule, stop.verdict, stop.effect, stop.origins?.join()].join(' ')}>
            <td>{stop.agent_id}</td>
            <td data-label="What">
              {stop.effect}
              {stop.origins !== null && stop.origins.length > 0 && (
                <div className="small muted">in work of {stop.origins.join(', ')}</div>
              )}
              {stop.advice !== '' && <div className="small muted">{stop.advice}</div>}
            </td>
            <td data-label="By">
              <Badge tone={toneOf(stop.verdict)}>{stop.verdict}</Badge> {stop.rule}
            </td>
            <td data-label="Times">
              {stop.count}
              {stop.approved > 0 && <div className="small muted">{stop.approved} approved</div>}
            </td>
            <td className="muted">
              <Ago at={stop.last_at} />
            </td>
            <td>
              {stop.proposal !== null && (
                <Act call="policyRuleAdd" className="button" onClick={() => setChosen(stop)}>
                  Allow …
                </Act>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {isCut && <p className="small muted">Only the latest {stops.length} are listed.</p>}
      {chosen !== null && <Allow stop={chosen} onClose={() => setChosen(null)} />}
    </Card>
  )
}

/** Shows the proposed rule with what it opens, and adds it after the owner confirmed. */
function Allow({ stop, onClose }: { readonly stop: Stop; readonly onClose: () => void }) {
  const add = useAction('policyRuleAdd', { done: 'The rule was added.', stale: ['policy', 'policyStops'] })
  const { proposal } = stop
  if (proposal === null) return null
  return (
    <Confirm
      title={`Allow this to ${stop.agent_id} without asking?`}
      action="Add the rule"
      busy={add.isPending}
      onClose={onClose}
      onConfirm={() => add.mutate({ body: { rule: proposal.rule } }, { onSettled: onClose })}
    >
      <div className="stack">
        <p>This rule is added to config/policy.yaml:</p>
        <pre className="code" tabIndex={0} role="region" aria-label="The rule">
          {proposal.text}
        </pre>
        <Points sentences={proposal.allows} />
        <p>Of what was stopped in the last seven days, it would have allowed:</p>
        <Points sentences={proposal.opens} />
      </div>
    </Confirm>
  )
}

function matchText({ match, when }: Rule): string {
  const fields = Object.entries(match).map(
    ([field, value]) => `${field} ${typeof value === 'number' ? value : value.join(', ')}`,
  )
  return [...fields, ...(when === null ? [] : [`when ${when}`])].join('; ')
}

function toneOf(verdict: Rule['verdict']): Tone {
  return ({ allow: 'ok', ask: 'warn', deny: 'bad' } as const)[verdict]
}
