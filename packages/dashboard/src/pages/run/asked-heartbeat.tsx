import { heartbeatSections } from './heartbeat-message.ts'

/** Shows what a heartbeat saw, and folds the rules and logs that the agent gets each time. */
export function AskedHeartbeat({ message }: { readonly message: string }) {
  const sections = heartbeatSections(message)
  if (sections.length === 0) return <div className="body plain-text">{message}</div>
  const sights = sections.filter(({ isSight }) => isSight)
  return (
    <div className="body stack">
      {sights.map(({ title, text }) => (
        <section key={title} className="stack tight" aria-label={title}>
          <h3>{title}</h3>
          <p className="plain-text">{text}</p>
        </section>
      ))}
      {sections
        .filter(({ isSight }) => !isSight)
        .map(({ title, text }) => (
          <details key={title}>
            <summary className="muted">{title}</summary>
            <p className="plain-text">{text}</p>
          </details>
        ))}
    </div>
  )
}
