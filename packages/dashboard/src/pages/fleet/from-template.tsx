import { useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import { formatCount } from '../../data/format.ts'
import { useAction, useMesh, useServices } from '../../data/use-mesh.ts'
import { Empty, Failed, Loading } from '../../design/parts.tsx'
import { TemplatePlanView } from './template-plan.tsx'

/** Lists complete fleets; shows the plan of a template first, and then creates exactly that plan. */
export function FromTemplate({ onClose }: { readonly onClose: () => void }) {
  const templates = useMesh('templates')
  const [chosen, setChosen] = useState<string | null>(null)
  if (templates.isPending) return <Loading />
  if (templates.error) return <Failed error={templates.error} retry={templates.refetch} />
  if (chosen !== null) return <Plan name={chosen} onBack={() => setChosen(null)} onClose={onClose} />
  if (templates.data.templates.length === 0) {
    return (
      <Empty title="There is no template">
        Put one into <code>templates/</code> of the home folder, or write out this fleet as one:{' '}
        <code>flotilla export</code>.
      </Empty>
    )
  }
  return (
    <div className="pick">
      {templates.data.templates.map(({ name, description, agents, broken, from }) => (
        <button key={name} type="button" disabled={broken !== null} onClick={() => setChosen(name)}>
          <strong>{name}</strong>
          <span className="small muted">
            {formatCount(agents.length, 'agent')}
            {from === 'home' ? ', yours' : ''}
          </span>
          <span className="small muted">{broken ?? description}</span>
        </button>
      ))}
    </div>
  )
}

function Plan({
  name,
  onBack,
  onClose,
}: {
  readonly name: string
  readonly onBack: () => void
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const plan = useQuery({
    queryKey: ['templatePlan', name],
    queryFn: ({ signal }) => client.call('templatePlan', { body: { name }, signal }),
    staleTime: 0,
    retry: false,
  })
  const apply = useAction('templateApplyPlan', {
    done: `${name} is applied.`,
    stale: ['status', 'fleetUse', 'budgets', 'cronJobs', 'heartbeats'],
  })
  if (plan.isPending) return <Loading />
  if (plan.error) return <Failed error={plan.error} retry={plan.refetch} />
  const secrets = apply.data?.secrets ?? []
  if (secrets.length > 0) return <Secrets secrets={secrets} onClose={onClose} />
  const isNothing = plan.data.items.every(({ action }) => action === 'keep')
  return (
    <>
      <p className="plain-text">{plan.data.description}</p>
      <TemplatePlanView items={plan.data.items} />
      <div className="actions">
        <button type="button" className="button" onClick={onBack}>
          Back
        </button>
        <button
          type="button"
          className="button primary"
          disabled={apply.isPending || isNothing}
          onClick={() =>
            apply.mutate(
              { body: { name, digest: plan.data.digest } },
              { onSuccess: (reply) => (reply.secrets.length === 0 ? onClose() : undefined) },
            )
          }
        >
          {isNothing ? 'Already applied' : apply.isPending ? 'Applying' : 'Apply'}
        </button>
      </div>
    </>
  )
}

function Secrets({
  secrets,
  onClose,
}: {
  readonly secrets: readonly { readonly webhook: string; readonly path: string; readonly secret: string }[]
  readonly onClose: () => void
}) {
  return (
    <>
      <p>These webhook secrets are shown only once. Give each to the sender of its webhook.</p>
      <dl className="facts">
        {secrets.map(({ webhook, path, secret }) => (
          <div key={webhook} className="stack">
            <dt>
              {webhook} <span className="mono">{path}</span>
            </dt>
            <dd className="mono">{secret}</dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <button type="button" className="button primary" onClick={onClose}>
          I have stored them
        </button>
      </div>
    </>
  )
}
