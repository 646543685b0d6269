/** What is shown of a file, so that no fault of showing it leaves parts of another one on the page. */
import { Component, type ComponentChildren } from 'preact';

interface Props {
  /** With another one the children are tried again; not the one that `onFault` leads to. */
  readonly of: unknown;
  readonly onFault: (error: unknown) => void;
  readonly children: ComponentChildren;
}

interface State {
  readonly of?: unknown;
  readonly isFaulty?: boolean;
}

/** Nothing at all once one of its children failed. */
export class Guard extends Component<Props, State> {
  static override getDerivedStateFromProps({ of }: Props, state: State): State | null {
    return state.of === of ? null : { of, isFaulty: false };
  }

  static override getDerivedStateFromError(): State {
    return { isFaulty: true };
  }

  override componentDidCatch(error: unknown): void {
    this.props.onFault(error);
  }

  override render({ children }: Props, { isFaulty }: State): ComponentChildren {
    return isFaulty === true ? null : children;
  }
}
