// A button that copies a text, and says that it did.

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "away" }); // the older way, where a file on disk may not use the newer
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function copyButton(what, text) {
  const button = el("button", { type: "button", class: "quiet copy", "aria-label": `Copy ${what}` }, "Copy");
  const said = el("span", { class: "away", role: "status" });
  button.addEventListener("click", async () => {
    const done = await copyText(text);
    button.textContent = done ? "Copied" : "Not copied";
    said.textContent = done ? `Copied ${what}` : `The browser did not allow to copy ${what}`;
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 1800);
  });
  return el("span", { class: "copying" }, button, said);
}
