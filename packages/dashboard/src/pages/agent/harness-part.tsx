import { formatHarness } from '@flotilla/protocol/agent-harness'
import type { AgentHarnessView } from '@flotilla/protocol/agent-harness'
import type { Harness } from '@flotilla/protocol/harness'
import { harnessNames } from '@flotilla/protocol/harness-variable'
import { useState } from 'react'
import { useAction, useMesh, useRefusal, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { Failed, Loading } from '../../design/parts.tsx'

const ownLoop = 'its own loop'
const stale = ['agentHarness', 'agentPackages', 'packages'] as const

/** What drives the runs of an agent, with a form for an owner. */
export function HarnessPart({ agentId }: { readonly agentId: string }) {
  const maySee = useRefusal({ call: 'agentHarness', agent: agentId }) === null
  const harness = useMesh('agentHarness', { params: { id: agentId } }, { enabled: maySee })
  const [isChanging, setChanging] = useState(false)
  const { data } = harness
  if (!maySee) return null
  return (
    <section className="stack tight" aria-label="Harness">
      <div className="row apart">
        <h3>Driven by</h3>
        {data?.set_at === agentId && (
          <Act
            call="setAgentHarness"
            agent={agentId}
            className="button small"
            onClick={() => setChanging(true)}
          >
            Change …<span className="hidden-words"> what drives it</span>
          </Act>
        )}
      </div>
      {harness.isPending && <Loading rows={1} />}
      {harness.error && <Failed error={harness.error} retry={harness.refetch} />}
      {data && <p className="small plain-text">{wordsOf(data.harness)}</p>}
      {data && data.set_at !== agentId && <p className="small muted">As {data.set_at}, its root ancestor.</p>}
      {isChanging && data && <HarnessForm view={data} onClose={() => setChanging(false)} />}
    </section>
  )
}

function HarnessForm({ view, onClose }: { readonly view: AgentHarnessView; readonly onClose: () => void }) {
  const { client } = useServices()
  // What drove the agent when the form was opened: a change by another person meanwhile is not overwritten.
  const [{ agent_id: id, harness: seen }] = useState(view)
  const [chosen, setChosen] = useState(wordsOf(seen))
  const wanted = chosen === wordsOf(seen) ? seen : (harnessNames.find((name) => name === chosen) ?? null)
  const save = useAction('setAgentHarness', {
    done: `The next run of ${id} is driven by ${wordsOf(wanted)}.`,
    stale,
    undo: ({ harness: now }) => ({
      by: 'setAgentHarness',
      run: () => client.call('setAgentHarness', { params: { id }, body: { harness: seen, seen: now } }),
      done: `${id} is driven by ${wordsOf(seen)} again.`,
    }),
  })
  return (
    <EditDialog
      title={`What drives ${id}`}
      before={wordsOf(seen)}
      after={chosen}
      fault={null}
      busy={save.isPending}
      onSave={() => save.mutate({ params: { id }, body: { harness: wanted, seen } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <ChoiceField
        label="Driven by"
        hint="The package of a program is added to the agent’s image. Most of them need 1,536 MB of memory: see Size."
        value={chosen}
        onChange={setChosen}
        choices={[...new Set([ownLoop, ...harnessNames, wordsOf(seen)])]}
      />
    </EditDialog>
  )
}

function wordsOf(harness: Harness | null): string {
  return harness === null ? ownLoop : formatHarness(harness)
}
