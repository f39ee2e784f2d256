import { Component } from 'react'
import type { ReactNode } from 'react'
import { Failed } from '../design/parts.tsx'

interface Given {
  /** The path of the page; a change of the path clears the error. */
  readonly place: string
  /**
   * True while the mesh does not answer; a part of the page that failed to load is loaded again once the mesh
   * answers.
   */
  readonly isGone: boolean
  readonly children: ReactNode
}

interface Shown {
  readonly error: unknown
}

/** Shows an error when a page fails to render, and keeps the menu. React requires a class component for this. */
export class Boundary extends Component<Given, Shown> {
  override state: Shown = { error: null }

  static getDerivedStateFromError(error: unknown): Shown {
    return { error }
  }

  override componentDidUpdate({ place, isGone }: Given): void {
    if (isGone && !this.props.isGone && this.state.error !== null) window.location.reload()
    if (place !== this.props.place && this.state.error !== null) this.setState({ error: null })
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="page">
        {/* A part that did not arrive is remembered as missing, so trying again means to load the page anew. */}
        <Failed error={error} retry={() => window.location.reload()} />
      </div>
    )
  }
}
