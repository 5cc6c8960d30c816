// A small box beside what is pointed at, kept inside its host.

function tooltip(host) {
  const box = el("div", { class: "tooltip", hidden: true, "aria-hidden": "true" });
  host.append(box);
  return {
    show(x, y, ...lines) {
      box.replaceChildren(...lines);
      box.hidden = false;
      const [width, height] = [box.offsetWidth, box.offsetHeight];
      const right = x + 14 + width <= host.clientWidth;
      box.style.left = `${Math.max(0, right ? x + 14 : Math.min(x - 14 - width, host.clientWidth - width))}px`;
      box.style.top = `${Math.max(0, Math.min(y - height / 2, host.clientHeight - height))}px`;
    },
    hide() {
      box.hidden = true;
    },
  };
}
