import { useState } from 'react'
import { useLocation } from 'wouter'
import type { RunView } from '@flotilla/protocol/run'
import { formatMoment } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Card, Code, Failed, Loading } from '../../design/parts.tsx'

/** Shows the model's answers step by step, and starts a replay: from the record, or with another model. */
export function ReplayCard({ run }: { readonly run: RunView }) {
  const [open, setOpen] = useState(false)
  return (
    <Card
      title="Record"
      more={
        <button
          type="button"
          className="button small"
          aria-expanded={open}
          onClick={() => setOpen((before) => !before)}
        >
          {open ? 'Hide' : 'Replay or fork …'}
        </button>
      }
    >
      {open ? (
        <Recorded run={run} />
      ) : (
        <p className="body small muted">
          A replay repeats the run with the recorded answers of its model, and executes nothing. A fork
          continues from one step with another model, and its tool calls are real.
        </p>
      )}
    </Card>
  )
}

function Recorded({ run }: { readonly run: RunView }) {
  const [, go] = useLocation()
  const record = useMesh('runRecord', { params: { id: run.id } })
  const replay = useAction('runReplay', { stale: ['runs'] })
  const [forking, setForking] = useState<number | null>(null)
  if (record.isPending) return <Loading rows={2} />
  if (record.error) {
    return (
      <div className="body">
        <Failed error={record.error} />
      </div>
    )
  }
  const { cut, turns, steps } = record.data
  return (
    <div className="body stack">
      {cut !== null && <p className="note warn">Not whole: {cut}.</p>}
      {turns.map(({ turn, asked }) => (
        <section key={turn} className="stack" aria-label={`Turn ${turn}`}>
          <div className="row apart">
            <span className="clip">
              Turn {turn}: <span className="muted">{asked}</span>
            </span>
            <Act
              call="runReplay"
              agent={run.agent_id}
              className="button small"
              disabled={replay.isPending}
              onClick={() =>
                replay.mutate(
                  { params: { id: run.id }, body: { turn } },
                  { onSuccess: (begun) => go(`/runs/${begun.run.id}`) },
                )
              }
            >
              Replay turn {turn}
            </Act>
          </div>
          {steps
            .filter((step) => step.turn === turn)
            .map((step) => (
              <details key={step.step} className="tool">
                <summary>
                  <span className="number">{step.step}.</span>
                  <span className="clip">
                    {step.text || step.calls.map(({ tool }) => tool).join(', ') || 'said nothing'}
                  </span>
                </summary>
                <div className="inside">
                  <div className="row apart small muted">
                    <span>
                      {step.model} {formatMoment(step.at)}
                    </span>
                    <Act
                      call="runFork"
                      agent={run.agent_id}
                      className="button small"
                      onClick={() => setForking(step.step)}
                    >
                      Fork from step {step.step} …
                    </Act>
                  </div>
                  {step.text !== '' && <p className="plain-text">{step.text}</p>}
                  {step.calls.map((call, index) => (
                    // The index is the key, because calls of one step have no ids.
                    <div key={index} className="stack">
                      <span className="mono">{call.tool}</span>
                      <Code value={call.arguments} label={`Arguments of ${call.tool}`} />
                      {call.result !== null && <Code value={call.result} label={`Result of ${call.tool}`} />}
                    </div>
                  ))}
                </div>
              </details>
            ))}
        </section>
      ))}
      {forking !== null && <Fork run={run} step={forking} close={() => setForking(null)} />}
    </div>
  )
}

function Fork({
  run,
  step,
  close,
}: {
  readonly run: RunView
  readonly step: number
  readonly close: () => void
}) {
  const [, go] = useLocation()
  const models = useMesh('models')
  const [model, setModel] = useState('')
  const [usd, setUsd] = useState('')
  const fork = useAction('runFork', { stale: ['runs'] })
  const able = (models.data?.models ?? []).filter(({ problem }) => problem === null)
  const maxUsd = Number(usd)
  return (
    <FormDialog
      title={`Fork from step ${step}`}
      words="Everything before the step comes from the record. From that step the other model answers, and its tool calls are real, within the budgets of the agent."
      action="Fork"
      busy={fork.isPending || model === ''}
      onClose={close}
      onSend={() =>
        fork.mutate(
          { params: { id: run.id }, body: { model, step, ...(maxUsd > 0 ? { max_usd: maxUsd } : {}) } },
          { onSuccess: (begun) => go(`/runs/${begun.run.id}`) },
        )
      }
    >
      <ChoiceField
        label="Model"
        unchosen="Choose a model"
        value={model}
        onChange={setModel}
        choices={able.map(({ id }) => id)}
      />
      <FormField label="US dollars that it may spend (may be empty)">
        <input
          className="input"
          type="number"
          min="0.01"
          step="0.01"
          value={usd}
          onChange={(event) => setUsd(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}
