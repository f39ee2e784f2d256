import { useQuery } from '@tanstack/react-query'
import { fillPath } from '@flotilla/protocol/endpoint'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import type { Reply } from '@flotilla/client/mesh-call'
import { formatBytes } from '../../data/format.ts'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh, useServices } from '../../data/use-mesh.ts'
import { Choice } from '../../design/choice.tsx'
import { Ago, Card, Code, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { artifactShownMaxBytes, artifactText } from './artifact-text.ts'

type Artifact = Reply<'artifacts'>['artifacts'][number]

/** The maximum number of rows that are rendered; the search covers all artifacts. */
const drawnMax = 100

/** What agents saved for people. */
export function ArtifactsView() {
  const artifacts = useMesh('artifacts')
  const [{ agent, find, open }, choose] = useChoice(['agent', 'find', 'open'])
  const all = artifacts.data?.artifacts ?? []
  const shown = all.filter((one) => (agent === '' || one.agent_id === agent) && matches(one, find))
  const opened = all.find((one) => keyOf(one) === open)
  return (
    <>
      <div className="row">
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search artifacts"
          value={find}
          onChange={(event) => choose('find', event.target.value)}
        />
        <Choice
          name="Agent"
          value={agent}
          of={[...new Set(all.map((one) => one.agent_id))]}
          onChange={(value) => choose('agent', value)}
        />
      </div>
      {artifacts.isPending && <Loading />}
      {artifacts.error && <Failed error={artifacts.error} retry={artifacts.refetch} />}
      {artifacts.isSuccess && shown.length === 0 && (
        <section className="card" aria-label="Artifacts">
          <Empty title={all.length === 0 ? 'Nothing was saved yet' : 'No artifact matches'}>
            {all.length === 0
              ? 'An agent that saves a file with save_artifact keeps it here, outside its container. Ask one for a report as a file.'
              : 'Choose another agent or other words.'}
          </Empty>
        </section>
      )}
      {opened && <Opened artifact={opened} close={() => choose('open', '')} />}
      {shown.length > 0 && (
        <section className="card" aria-label="Artifacts">
          <Table
            label="Table of artifacts"
            columns={['Name', 'Agent', 'Project', { right: 'Size' }, 'Saved']}
            hasActions
          >
            {shown.slice(0, drawnMax).map((one) => (
              <tr key={keyOf(one)}>
                <td>
                  <button
                    type="button"
                    className="link-button"
                    aria-expanded={keyOf(one) === open}
                    onClick={() => choose('open', keyOf(one) === open ? '' : keyOf(one))}
                  >
                    {one.name}
                  </button>
                  {one.description !== '' && <div className="small muted">{one.description}</div>}
                </td>
                <td data-label="Agent">{one.agent_id}</td>
                <td data-label="Project">{one.project ?? '—'}</td>
                <td className="right number" data-label="Size">
                  {formatBytes(one.size_bytes)}
                </td>
                <td className="muted" data-label="Saved">
                  <Ago at={one.saved_at} />
                </td>
                <td className="right">
                  <Download artifact={one} />
                </td>
              </tr>
            ))}
          </Table>
        </section>
      )}
      {shown.length > drawnMax && (
        <p className="small muted">The newest {drawnMax} are shown. Search for older ones.</p>
      )}
    </>
  )
}

/** Shows an artifact as text, whatever type it claims; nothing of it is rendered, run or loaded. */
function Opened({ artifact, close }: { readonly artifact: Artifact; readonly close: () => void }) {
  const { client } = useServices()
  const { agent_id: agent, name } = artifact
  const read = useQuery({
    // The key contains the digest of the content, so that a newly saved version is requested.
    queryKey: ['artifact', agent, name, artifact.sha256],
    queryFn: ({ signal }) => client.bytes('artifact', { params: { agent, name }, signal }),
  })
  const shown = read.data && artifactText(read.data)
  return (
    <Card
      title={name}
      more={
        <span className="row">
          <Download artifact={artifact} />
          <button type="button" className="button small quiet" onClick={close}>
            Close
          </button>
        </span>
      }
    >
      <div className="body stack">
        {read.isPending && <Loading rows={2} />}
        {read.error && <Failed error={read.error} retry={read.refetch} />}
        {shown?.text === null && <p className="muted">This artifact is not text. Download it to open it.</p>}
        {shown && shown.text !== null && <Code value={shown.text} label={`Text of ${name}`} />}
        {shown?.cut && (
          <p className="small muted">
            The first {formatBytes(artifactShownMaxBytes)} are shown. The download contains everything.
          </p>
        )}
        <p className="small muted mono clip">sha256 {artifact.sha256}</p>
      </div>
    </Card>
  )
}

/** Downloads an artifact. The mesh sends it as an attachment, with a policy that forbids all scripts in it. */
function Download({ artifact: { agent_id: agent, name } }: { readonly artifact: Artifact }) {
  return (
    <a
      className="button small"
      href={fillPath(meshHumanEndpoints.artifact.path, { agent, name })}
      download={name}
    >
      Download<span className="hidden-words"> {name}</span>
    </a>
  )
}

function keyOf({ agent_id: agent, name }: Artifact): string {
  return `${agent}/${name}`
}

function matches({ name, description, agent_id: agent }: Artifact, search: string): boolean {
  return [name, description, agent].join('\n').toLowerCase().includes(search.toLowerCase())
}
