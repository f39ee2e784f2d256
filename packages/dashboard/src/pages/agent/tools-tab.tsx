import { useState } from 'react'
import { formatCount } from '../../data/format.ts'
import { useEdits } from '../../data/use-edits.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Act, Reserved } from '../../design/act.tsx'
import { Badge, Card, Code, Empty, Failed, Loading } from '../../design/parts.tsx'
import type { Tone } from '../../live/state-tone.ts'
import { Changes } from './changes.tsx'
import { mcpEdit } from './mcp-edit.ts'
import { McpForm } from './mcp-form.tsx'

/** Lists an agent's tools: its own skills, those of MCP servers, and those of all agents. */
export function ToolsTab({ agentId }: { readonly agentId: string }) {
  const tools = useMesh('agentTools', { params: { id: agentId } })
  const all = tools.data?.tools ?? []
  const skills = all.filter(({ source }) => source === 'skill')
  const builtin = all.filter(({ source }) => source === 'builtin')
  return (
    <>
      <Card title="Skills">
        {tools.isPending && <Loading />}
        {tools.error && <Failed error={tools.error} retry={tools.refetch} />}
        {tools.isSuccess && skills.length === 0 && (
          <Empty title="No skill is loaded">
            An agent writes tools of its own below <code>skills/</code>. The agent loads them when its first
            run after a start begins.
          </Empty>
        )}
        {skills.map(({ name, description }) => (
          <Tool key={name} name={name} description={description} />
        ))}
      </Card>
      <Reserved call="mcpServers" title="MCP servers">
        <Servers agentId={agentId} />
      </Reserved>
      <Changes agentId={agentId} />
      {builtin.length > 0 && (
        <Card title="Built in" more={<span className="small muted number">{builtin.length}</span>}>
          {builtin.map(({ name, description }) => (
            <Tool key={name} name={name} description={description} />
          ))}
        </Card>
      )}
    </>
  )
}

function Tool({ name, description }: { readonly name: string; readonly description: string }) {
  return (
    <div className="kept-row">
      <strong className="mono">{name}</strong>
      <p className="muted plain-text">{description}</p>
    </div>
  )
}

const tones: Readonly<Record<string, Tone>> = {
  running: 'ok',
  starting: 'busy',
  failed: 'bad',
  stopped: 'warn',
}

function Servers({ agentId }: { readonly agentId: string }) {
  const servers = useMesh('mcpServers', { params: { id: agentId } })
  const edits = useEdits(agentId)
  /** The name of the server that is edited; empty for a new one. */
  const [changing, setChanging] = useState<string | null>(null)
  const changed = servers.data?.servers.find(({ name }) => name === changing) ?? null
  return (
    <Card
      title="MCP servers"
      more={
        <Act
          call="agentEdit"
          agent={agentId}
          wants="owner"
          className="button small"
          onClick={() => setChanging('')}
        >
          Add a server …
        </Act>
      }
    >
      {servers.isPending && <Loading />}
      {servers.error && <Failed error={servers.error} retry={servers.refetch} />}
      {servers.data?.servers.length === 0 && (
        <Empty title="No server is set up">
          An MCP server gives the agent the tools of another program: an issue tracker, a search, a database.
        </Empty>
      )}
      {servers.data?.servers.map(({ name, state, detail, tools, config, notices }) => (
        <div key={name} className="kept-row">
          <div className="row">
            <strong>{name}</strong>
            <Badge tone={tones[state] ?? 'neutral'}>{state}</Badge>
            <span className="small muted">{formatCount(tools.length, 'tool')}</span>
            <Act
              call="agentEdit"
              agent={agentId}
              wants="owner"
              className="button small"
              onClick={() => setChanging(name)}
            >
              Change …<span className="hidden-words"> {name}</span>
            </Act>
            <Act
              call="agentEdit"
              agent={agentId}
              wants="owner"
              className="button small quiet"
              disabled={edits.isPending}
              onClick={() => edits.mutate([mcpEdit({ remove: [name] })])}
            >
              Remove<span className="hidden-words"> {name}</span>
            </Act>
          </div>
          {detail !== '' && <p className="muted plain-text">{detail}</p>}
          {notices.map((notice) => (
            <p key={notice} className="muted plain-text">
              {notice}
            </p>
          ))}
          {tools.length > 0 && <p className="small mono plain-text">{tools.join(', ')}</p>}
          <Code value={config} label={`How ${name} is set up`} />
        </div>
      ))}
      {changing !== null && (changing === '' || changed) && (
        <McpForm agentId={agentId} server={changed} onClose={() => setChanging(null)} />
      )}
    </Card>
  )
}
