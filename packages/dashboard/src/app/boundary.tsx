import { Component } from 'react'
import type { ReactNode } from 'react'
import { Failed } from '../design/parts.tsx'

interface Shown {
  readonly error: unknown
}

/** A page that fails to draw says so, and leaves the menu standing. React knows no other form for this than a class. */
export class Boundary extends Component<{ readonly children: ReactNode }, Shown> {
  override state: Shown = { error: null }

  static getDerivedStateFromError(error: unknown): Shown {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="page">
        <Failed error={error} retry={() => this.setState({ error: null })} />
      </div>
    )
  }
}
