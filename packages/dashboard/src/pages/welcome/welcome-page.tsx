import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Badge, Card, Failed, Loading, PageHead } from '../../design/parts.tsx'
import { LocalServers } from '../settings/local-servers.tsx'
import { OwnServerForm } from '../settings/own-server-form.tsx'
import { ProviderForm } from '../settings/provider-form.tsx'
import '../settings/settings.css'
import './welcome.css'

type Way = 'key' | 'local' | 'server' | 'demo'
const firstFleet = 'starter'
const firstQuestion = 'Who is in this fleet, and what could you do for me today? Answer in three sentences.'

/** Guides a new owner to a first answer: choose a model, create a fleet, ask a question. */
export function WelcomePage() {
  const setup = useMesh('setup')
  const [way, setWay] = useState<Way>('key')
  const demo = useAction('setupDemo', { stale: ['setup', 'status', 'models'] })
  const model = setup.data?.default_model ?? null
  // If the demo is selected, its question is suggested, also after a reload of the page.
  const played = setup.data?.demo ?? null
  const known = setup.data?.providers.filter(({ own_server: isOwn }) => !isOwn) ?? []
  const ask = played ?? { agent: operatorAgentId, question: firstQuestion }
  return (
    <div className="page welcome">
      <PageHead title="Welcome" />
      <p className="muted">
        Three steps to the first answer. The model can be changed later under Settings, the agents under
        Fleet.
      </p>
      {setup.isPending && <Loading />}
      {setup.error && <Failed error={setup.error} retry={setup.refetch} />}
      {setup.data && (
        <>
          <Step number={1} title="A model" done={model !== null}>
            {model !== null && (
              <p>
                Agents use <strong className="mono">{model.name}</strong>.{' '}
                <Link href="/settings/providers">Change it</Link>
              </p>
            )}
            {model === null && (
              <>
                <div className="row" role="group" aria-label="Ways to begin">
                  <Choice way="key" now={way} choose={setWay} words="I have a key" />
                  <Choice way="local" now={way} choose={setWay} words="A model runs on this machine" />
                  <Choice way="server" now={way} choose={setWay} words="I have a server of my own" />
                  <Choice way="demo" now={way} choose={setWay} words="Show me a recording" />
                </div>
                {way === 'key' && (
                  <ProviderForm
                    offers={known.filter(({ needs_key }) => needs_key)}
                    onDone={() => undefined}
                  />
                )}
                {way === 'local' && <LocalServers offers={known} onDone={() => undefined} />}
                {way === 'server' && <OwnServerForm onDone={() => undefined} />}
                {way === 'demo' && (
                  <div className="stack">
                    <p>
                      A recorded conversation replaces the model: it costs nothing, needs no key, and every
                      tool call in it is real.
                    </p>
                    <div>
                      <button
                        type="button"
                        className="button primary"
                        disabled={demo.isPending}
                        onClick={() => demo.mutate({})}
                      >
                        Play the recording
                      </button>
                    </div>
                  </div>
                )}
              </>
            )}
          </Step>
          <FleetStep isDemo={played !== null || model?.name.startsWith('scripted/') === true} />
          <AskStep ask={ask} ready={model !== null} />
        </>
      )}
    </div>
  )
}

function Step({
  number,
  title,
  done,
  children,
}: {
  readonly number: number
  readonly title: string
  readonly done: boolean
  readonly children: ReactNode
}) {
  return (
    <Card title={`${number}. ${title}`} more={done ? <Badge tone="ok">done</Badge> : undefined}>
      <div className="body stack">{children}</div>
    </Card>
  )
}

function Choice({
  way,
  now,
  choose,
  words,
}: {
  readonly way: Way
  readonly now: Way
  readonly choose: (way: Way) => void
  readonly words: string
}) {
  return (
    <button
      type="button"
      className={`button ${way === now ? 'chosen' : ''}`}
      aria-pressed={way === now}
      onClick={() => choose(way)}
    >
      {words}
    </button>
  )
}

function FleetStep({ isDemo }: { readonly isDemo: boolean }) {
  const status = useMesh('status')
  const templates = useMesh('templates')
  const [chosen, setChosen] = useState<string | null>(null)
  const apply = useAction('templateApply', { stale: ['status'] })
  const workers = (status.data?.agents ?? []).filter(({ kind }) => kind === 'worker')
  const whole = (templates.data?.templates ?? []).filter(({ broken }) => broken === null)
  // The demo works only with its own fleet, so no other template is offered for it.
  const first = whole.filter(({ name }) => name === firstFleet)
  const offered = isDemo ? first : [...first, ...whole.filter(({ name }) => name !== firstFleet)]
  const name = chosen ?? firstFleet
  return (
    <Step number={2} title="A fleet" done={workers.length > 0}>
      {templates.error && <Failed error={templates.error} retry={templates.refetch} />}
      {workers.length > 0 ? (
        <p>
          {workers.map(({ id }) => id).join(', ')} and the operator, who gives them work.{' '}
          <Link href="/fleet">Look at them</Link>
        </p>
      ) : (
        <>
          <ul className="choices" aria-label="Ready fleets">
            {offered.map((one) => (
              <li key={one.name}>
                <button
                  type="button"
                  className={`choice ${one.name === name ? 'chosen' : ''}`}
                  aria-pressed={one.name === name}
                  onClick={() => setChosen(one.name)}
                >
                  <strong>{one.name}</strong>
                  <span className="small muted">{one.description}</span>
                </button>
              </li>
            ))}
          </ul>
          <div>
            <button
              type="button"
              className="button primary"
              disabled={apply.isPending}
              onClick={() => apply.mutate({ params: { name } })}
            >
              {apply.isPending ? 'Making it' : `Make ${name}`}
            </button>
          </div>
        </>
      )}
    </Step>
  )
}

function AskStep({
  ask: { agent, question },
  ready,
}: {
  readonly ask: { readonly agent: string; readonly question: string }
  readonly ready: boolean
}) {
  const [, go] = useLocation()
  return (
    <Step number={3} title="A question" done={false}>
      <blockquote className="plain-text">{question}</blockquote>
      <div>
        <button
          type="button"
          className="button primary"
          disabled={!ready}
          title={ready ? undefined : 'Choose a model first.'}
          onClick={() => go(`/chat/${agent}?ask=${encodeURIComponent(question)}`)}
        >
          Ask {agent}
        </button>
      </div>
    </Step>
  )
}
