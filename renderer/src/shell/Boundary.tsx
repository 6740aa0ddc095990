import { Component, type ReactNode } from 'react';
import type { ErrorBody } from '../../../main/contract/errors.ts';
import { toErrorBody } from '../bridge/errors.ts';
import { ErrorCard } from '../ui/ErrorCard.tsx';

/** A fault of the page itself: said in words, with a way on, instead of an empty window. */
export class Boundary extends Component<{ children: ReactNode }, { error: ErrorBody | null }> {
  override state: { error: ErrorBody | null } = { error: null };

  static getDerivedStateFromError(thrown: unknown): { error: ErrorBody } {
    return { error: toErrorBody(thrown) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="p-4">
        <ErrorCard error={error} onAction={() => this.setState({ error: null })} />
      </div>
    );
  }
}
